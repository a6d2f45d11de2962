// Builds the authoritative snapshot of a job, as the lifecycle profile defines it.
import type { JobError, JobSnapshot, PreflightSummary, ResultManifest } from '../../generated/types.ts'
import { isResultUnread, readResultSteps } from '../db/jobs/result-parts.ts'
import { findJobByKey } from '../db/jobs/rows.ts'
import { userShareKey } from '../db/owner-scope.ts'
import type { Store } from '../db/store.ts'
import type { JobTable } from '../db/tables/jobs.ts'
import { makeMeasuredSteps } from '../engine/node-api/values/measure.ts'
import { ServiceError } from '../errors.ts'
import { type EndSnapshot, isLargeText, parseJsonTextSteps } from '../events/lazy-event.ts'
import { estimateBytes, type ResponseReader, runForReader } from '../net/response-buffers.ts'
import type { Steps, TimeSliceScheduler } from '../shared/time-slices.ts'
import { toPublicStatus } from './state-machine.ts'
import { toPublicWaits } from './waits/stored-waits.ts'

interface SnapshotSources {
  readonly store: Store
  readonly slices: Pick<TimeSliceScheduler, 'run'>
}

/** The snapshot of a row without its result. `queue_position` is called only where the job is queued. */
export function buildJobSnapshot(row: JobTable, queue_position: () => number): Omit<JobSnapshot, 'result'> {
  const status = toPublicStatus(row.status)
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
    waiting: status === 'suspended' ? toPublicWaits(row) : [],
    // The type has a variant per status. The row's columns agree with its status, which the compiler cannot know.
  } as Omit<JobSnapshot, 'result'>
}

/** The result of a job. A large result is read and parsed in time slices of the owner, so that waiting callers hold no memory for it. */
export async function readJobResult(
  { store, slices }: SnapshotSources,
  row: JobTable,
  reader?: ResponseReader,
): Promise<ResultManifest | null> {
  const { key, result } = row
  if (result === null) return null
  if (!isResultUnread(row) && !isLargeText(result)) return JSON.parse(result) as ResultManifest
  const owner = userShareKey(row)
  return runForReader(reader, readStoredResultSteps(store, key, reader), (work) => slices.run(owner, work))
}

/** Counts the text for `reader` while it is parsed. @throws JOB_NOT_FOUND where the job was removed meanwhile */
function* readStoredResultSteps(store: Store, key: number, reader?: ResponseReader): Steps<ResultManifest> {
  const row = store.read((tx) => findJobByKey(tx, key))
  const text = row && (yield* readResultSteps(store, row))
  if (!text) throw new ServiceError('JOB_NOT_FOUND')
  const release = reader?.hold(estimateBytes(text))
  try {
    return (yield* makeMeasuredSteps(parseJsonTextSteps(text))) as ResultManifest
  } finally {
    release?.()
  }
}

/** The snapshot of a row whose job has ended, with the text of the result. */
export function buildEndSnapshot(row: JobTable, result: string | null): EndSnapshot {
  return { rest: buildJobSnapshot(row, () => 1), result }
}

/** The text of the result of a job. A large result is read in time slices of the owner. It is undefined where the job was removed meanwhile. */
export async function readResultText(
  { store, slices }: SnapshotSources,
  row: JobTable,
): Promise<string | null | undefined> {
  return isResultUnread(row) ? slices.run(userShareKey(row), readResultSteps(store, row)) : row.result
}

/** The snapshot of a stored job that has ended; null where it was removed. */
export async function readEndSnapshot(stored: SnapshotSources, job_key: number): Promise<EndSnapshot | null> {
  const row = stored.store.read((tx) => findJobByKey(tx, job_key))
  if (!row) return null
  const result = await readResultText(stored, row)
  return result === undefined ? null : buildEndSnapshot(row, result)
}
