// Lists jobs, a page of text at a time, and reads and deletes single jobs.

import type { JobSnapshot, JobStatus } from '../../generated/types.ts'
import { listJobKeys } from '../db/jobs/list-queries.ts'
import { purgeJob } from '../db/jobs/removal.ts'
import { readResultSteps } from '../db/jobs/result-parts.ts'
import { findJobForList } from '../db/jobs/rows.ts'
import { type OwnerScope, userShareKey } from '../db/owner-scope.ts'
import { startTimeBudget } from '../db/row-batches.ts'
import type { SealedCursors } from '../db/sealed-cursors.ts'
import type { Store } from '../db/store.ts'
import type { JobTable } from '../db/tables/jobs.ts'
import { isDamagedDataError, ServiceError } from '../errors.ts'
import { formatEndSnapshot, isLargeText } from '../events/lazy-event.ts'
import type { ResponseReader } from '../net/response-buffers.ts'
import type { Steps, TimeSliceScheduler } from '../shared/time-slices.ts'
import type { JobHandle, JobService } from './service.ts'
import { readJobResult } from './snapshot.ts'
import { isTerminal, listStoredStatuses } from './state-machine.ts'

interface JobQueryParts {
  readonly store: Store
  readonly jobs: Pick<JobService, 'get' | 'living' | 'snapshot' | 'removeFiles'>
  readonly slices: TimeSliceScheduler
}

export interface JobListParts extends JobQueryParts {
  readonly cursors: SealedCursors
}

export interface JobQuery {
  readonly workflow_id?: string | null | undefined
  readonly status?: JobStatus | null | undefined
  readonly limit?: number | null | undefined
  readonly cursor?: string | null | undefined
}

export interface JobPage {
  /** The snapshots as a JSON array, in parts. */
  readonly text: AsyncGenerator<string, void, void>
  /** The cursor of the next page, or null on the last one. */
  readonly next: string | null
}

const DEFAULT_LIMIT = 50
/** Characters of snapshots in one part of the text. */
const TEXT_PART_CHARACTERS = 65_536
/** Milliseconds for which a deletion removes the rows of the job at once. The next sweeps remove the rest. */
const REMOVAL_MS = 3

/**
 * The caller's jobs, the newest first. The keys are read at once, each job when its turn comes. A job that was removed by then, or has another status than
 * the query, is left out.
 * @throws INVALID_REQUEST for a cursor that no list returned
 */
export function listJobs(parts: JobListParts, scope: OwnerScope, query: JobQuery): JobPage {
  const limit = query.limit ?? DEFAULT_LIMIT
  const list = ['jobs', query.workflow_id ?? null, query.status ?? null]
  const before = parts.cursors.open(scope, list, query.cursor) ?? Number.MAX_SAFE_INTEGER
  const statuses = listStoredStatuses(query.status ?? null)
  const filter = { workflow_id: query.workflow_id ?? null, statuses, before, limit: limit + 1 }
  const keys = parts.store.read((tx) => listJobKeys(tx, scope, filter))
  const shown = keys.slice(0, limit)
  const next = keys.length > limit ? parts.cursors.seal(scope, list, shown.at(-1)!) : null
  return { text: streamSnapshots(parts, scope, shown, new Set(statuses)), next }
}

async function* streamSnapshots(
  parts: JobQueryParts,
  scope: OwnerScope,
  shown: readonly number[],
  statuses: ReadonlySet<JobTable['status']>,
): AsyncGenerator<string, void, void> {
  const { slices } = parts
  const owner = userShareKey(scope)
  const list: ListProgress = { left: [...shown], statuses, sentCount: 0 }
  yield `[${await slices.begin(owner, nextSnapshotsSteps(parts, scope, list))}`
  // Most lists are short. Many long lists at once take turns.
  while (list.left.length > 0) yield await slices.run(owner, nextSnapshotsSteps(parts, scope, list))
  yield ']'
}

/** The progress of a list. */
interface ListProgress {
  readonly left: number[]
  readonly statuses: ReadonlySet<JobTable['status']>
  sentCount: number
}

/** The text of the next snapshots, about one part. */
function* nextSnapshotsSteps({ store, jobs }: JobQueryParts, scope: OwnerScope, list: ListProgress): Steps<string> {
  let text = ''
  while (list.left.length > 0 && text.length < TEXT_PART_CHARACTERS) {
    const key = list.left.shift()!
    const row = store.read((tx) => findJobForList(tx, key))
    if (!row || !list.statuses.has(row.status)) continue
    const result = yield* readListedResultSteps(store, row)
    if (result === undefined) continue
    const separator = list.sentCount++ === 0 ? '' : ','
    text += separator + formatJobText(jobs, { row, active: jobs.living(scope, row.id) }, result)
    yield
  }
  return text
}

/** The text of a result; undefined, so that the list omits the job, where the result is damaged or the job was removed. */
function* readListedResultSteps(store: Store, row: JobTable): Steps<string | null | undefined> {
  // Reading a large row has taken long.
  if (isLargeText(row.result)) yield
  try {
    return yield* readResultSteps(store, row)
  } catch (error) {
    if (isDamagedDataError(error)) return undefined
    throw error
  }
}

interface SnapshotParts {
  readonly store: Store
  readonly jobs: Pick<JobService, 'snapshot'>
  readonly slices: Pick<TimeSliceScheduler, 'run'>
}

/** The snapshot of a job. A large result is read and parsed in time slices of its owner, and counts for `reader`. */
export function readJobSnapshot(
  parts: SnapshotParts,
  handle: JobHandle,
  reader?: ResponseReader,
): Promise<JobSnapshot> {
  const rest = parts.jobs.snapshot(handle)
  return readJobResult(parts, handle.row, reader).then((result) => ({ ...rest, result }) as JobSnapshot)
}

/** The snapshot of a job as JSON text. */
export async function readJobText(
  jobs: Pick<JobService, 'snapshot' | 'resultText'>,
  handle: JobHandle,
): Promise<string> {
  return formatJobText(jobs, handle, await jobs.resultText(handle.row))
}

function formatJobText(jobs: Pick<JobService, 'snapshot'>, handle: JobHandle, result: string | null): string {
  return formatEndSnapshot({ rest: jobs.snapshot(handle), result })
}

/**
 * Deletes a job that has ended, with its events, its journal and files, and its idempotency keys.
 * @throws JOB_NOT_FOUND, JOB_EXPIRED, JOB_NOT_TERMINAL
 */
export async function deleteJob({ store, jobs }: JobQueryParts, scope: OwnerScope, job_id: string): Promise<void> {
  const { row } = await jobs.get(scope, job_id)
  if (!isTerminal(row.status)) throw new ServiceError('JOB_NOT_TERMINAL')
  const removed = await store.write((tx) => purgeJob(tx, row, startTimeBudget(REMOVAL_MS)))
  // A concurrent request has deleted the job.
  if (!removed) throw new ServiceError('JOB_NOT_FOUND')
  jobs.removeFiles()
}
