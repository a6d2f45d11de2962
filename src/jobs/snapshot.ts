// The authoritative state of a job, as the lifecycle profile describes it.
import type { JobError, JobSnapshot, PreflightSummary, ResultManifest } from '../../generated/types.ts'
import { jobByKey } from '../db/jobs.ts'
import { isUnread, resultSteps } from '../db/results.ts'
import type { JobTable } from '../db/schema.ts'
import { userKey } from '../db/scope.ts'
import type { Store } from '../db/store.ts'
import { measuredSteps } from '../engine/measure.ts'
import { ServiceError } from '../errors.ts'
import { type EndSnapshot, isLargeText, parseSteps } from '../events/lazy-event.ts'
import { bytesOf, doFor, type Reader } from '../held-answers.ts'
import type { Steps, TimeSlices } from '../time-slices.ts'
import { publicStatus } from './states.ts'
import { shownWaiting } from './waiting.ts'

interface Stored {
  readonly store: Store
  readonly slices: Pick<TimeSlices, 'run'>
}

/** The snapshot of a row but for its result. `queue_position` is asked for only where the job is queued. */
export function snapshotOf(row: JobTable, queue_position: () => number): Omit<JobSnapshot, 'result'> {
  const status = publicStatus(row.status)
  return {
    version: 1,
    job_id: row.id,
    workflow_id: row.workflow_id,
    workspace_id: row.workspace_id,
    workflow_etag: row.workflow_etag,
    status,
    queue_position: status === 'queued' ? queue_position() : null,
    created_at: row.created_at,
    updated_at: row.updated_at,
    started_at: row.started_at,
    finished_at: row.finished_at,
    last_sequence: row.last_sequence,
    preflight: row.preflight === null ? null : (JSON.parse(row.preflight) as PreflightSummary),
    error: row.error === null ? null : (JSON.parse(row.error) as JobError),
    waiting: status === 'suspended' ? shownWaiting(row) : [],
    // One variant per status: the row's columns agree with its status, which the compiler cannot see.
  } as Omit<JobSnapshot, 'result'>
}

/** The result of a row. A large one is read and parsed at its turn in the time slices of its owner, so that who waits for that holds nothing of it. */
export async function resultOf(
  { store, slices }: Stored,
  row: JobTable,
  reader?: Reader,
): Promise<ResultManifest | null> {
  const { key, result } = row
  if (result === null) return null
  if (!isUnread(row) && !isLargeText(result)) return JSON.parse(result) as ResultManifest
  const owner = userKey(row)
  return doFor(reader, storedResultSteps(store, key, reader), (work) => slices.run(owner, work))
}

/** Of the text, the reader that asks is told while it is parsed. @throws JOB_NOT_FOUND where the job was removed meanwhile */
function* storedResultSteps(store: Store, key: number, reader?: Reader): Steps<ResultManifest> {
  const row = store.read((tx) => jobByKey(tx, key))
  const text = row && (yield* resultSteps(store, row))
  if (!text) throw new ServiceError('JOB_NOT_FOUND')
  const release = reader?.hold(bytesOf(text))
  try {
    return (yield* measuredSteps(parseSteps(text))) as ResultManifest
  } finally {
    release?.()
  }
}

/** The snapshot of a row that says how its job has ended, with the text of its result. */
export function endSnapshot(row: JobTable, result: string | null): EndSnapshot {
  return { rest: snapshotOf(row, () => 1), result }
}

/** The text of the result of a row, a large one read in time slices of its owner. Undefined where the job was removed meanwhile. */
export async function resultTextOf({ store, slices }: Stored, row: JobTable): Promise<string | null | undefined> {
  return isUnread(row) ? slices.run(userKey(row), resultSteps(store, row)) : row.result
}

/** The snapshot of a stored job that has ended; null when it was removed. */
export async function storedSnapshot(stored: Stored, job_key: number): Promise<EndSnapshot | null> {
  const row = stored.store.read((tx) => jobByKey(tx, job_key))
  if (!row) return null
  const result = await resultTextOf(stored, row)
  return result === undefined ? null : endSnapshot(row, result)
}
