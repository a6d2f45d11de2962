// What is read of jobs besides one job's state: lists of them, a page of text at a time, and how a job that has ended is deleted.

import { setImmediate } from 'node:timers/promises'
import type { JobSnapshot, JobStatus } from '../../generated/types.ts'
import { decodeNumber, encodeNumber } from '../cursor.ts'
import { within } from '../db/batches.ts'
import { listedJobs } from '../db/job-lists.ts'
import { removeJob } from '../db/job-removal.ts'
import { listedJobByKey } from '../db/jobs.ts'
import type { JobTable } from '../db/schema.ts'
import type { Scope } from '../db/scope.ts'
import type { Store } from '../db/store.ts'
import { ServiceError } from '../errors.ts'
import { isLargeText, snapshotText } from '../events/lazy-event.ts'
import type { Reader } from '../held-answers.ts'
import type { TimeSlices } from '../time-slices.ts'
import type { JobHandle, JobService } from './service.ts'
import { resultOf } from './snapshot.ts'
import { isTerminal, storedStatuses } from './states.ts'

interface Parts {
  readonly store: Store
  readonly jobs: Pick<JobService, 'get' | 'living' | 'snapshot' | 'removeFiles'>
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
/** How long snapshots are made in one turn of the event loop, in milliseconds. */
const TURN_MS = 5
/** How long the traces of a deleted job are removed at once, in milliseconds; what is left goes with the next sweeps. */
const REMOVAL_MS = 3

/**
 * The caller's jobs, the newest first. Which ones is decided at once; each is shown as it is when its turn comes, and left out where it
 * is gone by then, or no longer of the status that was asked for.
 * @throws INVALID_REQUEST for a cursor that no list gave
 */
export function listJobs(parts: Parts, scope: Scope, query: JobQuery): JobPage {
  const limit = query.limit ?? DEFAULT_LIMIT
  const before = decodeNumber(query.cursor) ?? Number.MAX_SAFE_INTEGER
  const statuses = storedStatuses(query.status ?? null)
  const filter = { workflow_id: query.workflow_id ?? null, statuses, before, limit: limit + 1 }
  const keys = parts.store.read((tx) => listedJobs(tx, scope, filter))
  const shown = keys.slice(0, limit)
  const next = keys.length > limit ? encodeNumber(shown.at(-1)!) : null
  return { text: snapshots(parts, scope, shown, new Set(statuses)), next }
}

async function* snapshots(
  { store, jobs }: Parts,
  scope: Scope,
  keys: readonly number[],
  statuses: ReadonlySet<JobTable['status']>,
): AsyncGenerator<string, void, void> {
  let text = '['
  let separator = ''
  let deadline = performance.now() + TURN_MS
  for (const key of keys) {
    const row = store.read((tx) => listedJobByKey(tx, key))
    // To read it has taken its time.
    if (isLargeText(row?.result)) await setImmediate()
    if (row && statuses.has(row.status)) {
      text += separator + jobText(jobs, { row, active: jobs.living(scope, row.id) })
      separator = ','
    }
    if (performance.now() < deadline) continue
    yield text
    text = ''
    await setImmediate()
    deadline = performance.now() + TURN_MS
  }
  yield `${text}]`
}

/** The state of a job. A large result is parsed in time slices of its owner, for the reader that asks. */
export async function jobSnapshot(
  { jobs, slices }: { readonly jobs: Pick<JobService, 'snapshot'>; readonly slices: TimeSlices },
  { row, active }: JobHandle,
  reader?: Reader,
): Promise<JobSnapshot> {
  const rest = jobs.snapshot({ row: { ...row, result: null }, active })
  return { ...rest, result: await resultOf(slices, row, reader) } as JobSnapshot
}

/** The state of a job as JSON text. */
export function jobText(jobs: Pick<JobService, 'snapshot'>, { row, active }: JobHandle): string {
  const { result: _, ...rest } = jobs.snapshot({ row: { ...row, result: null }, active })
  return snapshotText({ rest, result: row.result })
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
