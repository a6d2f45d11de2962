// What is read of jobs besides one job's state: lists of them, a page of text at a time, and how a job that has ended is deleted.

import type { JobSnapshot, JobStatus } from '../../generated/types.ts'
import { within } from '../db/batches.ts'
import { listedJobs } from '../db/job-lists.ts'
import { removeJob } from '../db/job-removal.ts'
import { listedJobByKey } from '../db/jobs.ts'
import { resultSteps } from '../db/results.ts'
import type { JobTable } from '../db/schema.ts'
import { type Scope, userKey } from '../db/scope.ts'
import type { Store } from '../db/store.ts'
import { isDamage, ServiceError } from '../errors.ts'
import { isLargeText, snapshotText } from '../events/lazy-event.ts'
import type { Reader } from '../held-answers.ts'
import type { SealedCursors } from '../sealed-cursors.ts'
import type { Steps, TimeSlices } from '../time-slices.ts'
import type { JobHandle, JobService } from './service.ts'
import { resultOf } from './snapshot.ts'
import { isTerminal, storedStatuses } from './states.ts'

interface Parts {
  readonly store: Store
  readonly jobs: Pick<JobService, 'get' | 'living' | 'snapshot' | 'removeFiles'>
  readonly slices: TimeSlices
}

interface ListParts extends Parts {
  readonly cursors: SealedCursors
}

export interface JobQuery {
  readonly workflow_id?: string | null | undefined
  readonly status?: JobStatus | null | undefined
  readonly limit?: number | null | undefined
  readonly cursor?: string | null | undefined
}

export interface JobPage {
  /** The snapshots as one JSON array, in parts. */
  readonly text: AsyncGenerator<string, void, void>
  /** The cursor of the next page, or null on the last one. */
  readonly next: string | null
}

const DEFAULT_LIMIT = 50
/** Characters of snapshots that are made before they are sent. */
const PART = 65_536
/** How long the traces of a deleted job are removed at once, in milliseconds; what is left goes with the next sweeps. */
const REMOVAL_MS = 3

/**
 * The caller's jobs, the newest first. Which ones is decided at once; each is shown as it is when its turn comes, and left out where it
 * is gone by then, or no longer of the status that was asked for.
 * @throws INVALID_REQUEST for a cursor that no list gave
 */
export function listJobs(parts: ListParts, scope: Scope, query: JobQuery): JobPage {
  const limit = query.limit ?? DEFAULT_LIMIT
  const list = ['jobs', query.workflow_id ?? null, query.status ?? null]
  const before = parts.cursors.open(scope, list, query.cursor) ?? Number.MAX_SAFE_INTEGER
  const statuses = storedStatuses(query.status ?? null)
  const filter = { workflow_id: query.workflow_id ?? null, statuses, before, limit: limit + 1 }
  const keys = parts.store.read((tx) => listedJobs(tx, scope, filter))
  const shown = keys.slice(0, limit)
  const next = keys.length > limit ? parts.cursors.seal(scope, list, shown.at(-1)!) : null
  return { text: snapshots(parts, scope, shown, new Set(statuses)), next }
}

async function* snapshots(
  parts: Parts,
  scope: Scope,
  shown: readonly number[],
  statuses: ReadonlySet<JobTable['status']>,
): AsyncGenerator<string, void, void> {
  const { slices } = parts
  const owner = userKey(scope)
  const list: Listing = { left: [...shown], statuses, told: 0 }
  yield `[${await slices.begin(owner, someSnapshots(parts, scope, list))}`
  // Most lists are short. Of many long ones at once each goes on when its turn comes.
  while (list.left.length > 0) yield await slices.run(owner, someSnapshots(parts, scope, list))
  yield ']'
}

/** A list under way. */
interface Listing {
  readonly left: number[]
  readonly statuses: ReadonlySet<JobTable['status']>
  told: number
}

/** The next snapshots, about a part of them. */
function* someSnapshots({ store, jobs }: Parts, scope: Scope, list: Listing): Steps<string> {
  let text = ''
  while (list.left.length > 0 && text.length < PART) {
    const key = list.left.shift()!
    const row = store.read((tx) => listedJobByKey(tx, key))
    if (!row || !list.statuses.has(row.status)) continue
    const result = yield* listedResultSteps(store, row)
    if (result === undefined) continue
    const separator = list.told++ === 0 ? '' : ','
    text += separator + textOf(jobs, { row, active: jobs.living(scope, row.id) }, result)
    yield
  }
  return text
}

/** The text of a result; undefined where it is damaged, or its job was removed meanwhile: a list leaves it out. */
function* listedResultSteps(store: Store, row: JobTable): Steps<string | null | undefined> {
  // To read it has taken its time.
  if (isLargeText(row.result)) yield
  try {
    return yield* resultSteps(store, row)
  } catch (error) {
    if (isDamage(error)) return undefined
    throw error
  }
}

interface SnapshotParts {
  readonly store: Store
  readonly jobs: Pick<JobService, 'snapshot'>
  readonly slices: Pick<TimeSlices, 'run'>
}

/** The state of a job. A large result is read and parsed in time slices of its owner, for the reader that asks. */
export function jobSnapshot(parts: SnapshotParts, handle: JobHandle, reader?: Reader): Promise<JobSnapshot> {
  const rest = parts.jobs.snapshot(handle)
  return resultOf(parts, handle.row, reader).then((result) => ({ ...rest, result }) as JobSnapshot)
}

/** The state of a job as JSON text. */
export async function jobText(jobs: Pick<JobService, 'snapshot' | 'resultText'>, handle: JobHandle): Promise<string> {
  return textOf(jobs, handle, await jobs.resultText(handle.row))
}

function textOf(jobs: Pick<JobService, 'snapshot'>, handle: JobHandle, result: string | null): string {
  return snapshotText({ rest: jobs.snapshot(handle), result })
}

/**
 * Deletes a job that has ended, with its events, its journal with its files, and the keys that lead to it.
 * @throws JOB_NOT_FOUND, JOB_EXPIRED, JOB_NOT_TERMINAL
 */
export async function deleteJob({ store, jobs }: Parts, scope: Scope, job_id: string): Promise<void> {
  const { row } = await jobs.get(scope, job_id)
  if (!isTerminal(row.status)) throw new ServiceError('JOB_NOT_TERMINAL')
  const removed = await store.write((tx) => removeJob(tx, row, within(REMOVAL_MS)))
  // Somebody was quicker.
  if (!removed) throw new ServiceError('JOB_NOT_FOUND')
  jobs.removeFiles()
}
