// The authoritative state of a job, as the lifecycle profile describes it.
import type { JobError, JobSnapshot, PreflightSummary, ResultManifest } from '../../generated/types.ts'
import { jobByKey } from '../db/jobs.ts'
import { isUnread, resultSteps } from '../db/results.ts'
import type { JobTable } from '../db/schema.ts'
import { userKey } from '../db/scope.ts'
import type { Store } from '../db/store.ts'
import { measuredSteps } from '../engine/measure.ts'
import { type EndSnapshot, isLargeText, parseSteps } from '../events/lazy-event.ts'
import { bytesOf, type Reader, unlessEnded } from '../held-answers.ts'
import type { TimeSlices } from '../time-slices.ts'
import { publicStatus } from './states.ts'
import { shownWaiting } from './waiting.ts'

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

interface ResultParts {
  readonly jobs: { resultText(row: JobTable): Promise<string | null> }
  readonly slices: TimeSlices
}

/** The result of a row, read and parsed in time slices of its owner where it is large. Of a text that waits for that, the reader that asks is told. */
export async function resultOf(
  { jobs, slices }: ResultParts,
  row: JobTable,
  reader?: Reader,
): Promise<ResultManifest | null> {
  const result = await jobs.resultText(row)
  if (result === null) return null
  if (!isLargeText(result)) return JSON.parse(result) as ResultManifest
  const release = reader?.hold(bytesOf(result))
  try {
    return (await slices.run(userKey(row), unlessEnded(reader, measuredSteps(parseSteps(result))))) as ResultManifest
  } finally {
    release?.()
  }
}

/** The snapshot of a row that says how its job has ended, with the text of its result. */
export function endSnapshot(row: JobTable, result: string | null): EndSnapshot {
  return { rest: snapshotOf(row, () => 1), result }
}

interface Stored {
  readonly store: Store
  readonly slices: Pick<TimeSlices, 'run'>
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
