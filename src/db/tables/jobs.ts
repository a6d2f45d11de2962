// Tables of jobs: their rows, results, journals and events, and what remains of them or is still to be removed.

/** The stored job states; they never change. `jobs/state-machine.ts` maps them to the states for clients. */
export type StoredStatus =
  | 'scheduled'
  | 'pending'
  | 'queued'
  | 'running'
  | 'paused'
  | 'recovering'
  | 'cancel_requested'
  | 'completed'
  | 'failed'
  | 'error'
  | 'timed_out'
  | 'cancelled'

export interface JobTable {
  /** Identifies the job inside the database; `id` is unique only within its owner. */
  key: number
  id: string
  user_id: string
  workspace_id: string | null
  workflow_id: string
  workflow_etag: string | null
  workflow_revision: number | null
  graph_sha256: string
  name: string | null
  status: StoredStatus
  /**
   * If the client chose the id: a keyed hash of the normalized request, to tell a repeated submission from a different request. In rows of earlier
   * versions its SHA-256.
   */
  request_sha256: string | null
  options: string
  attempt: number
  last_sequence: number
  error: string | null
  result: string | null
  created_at: string
  updated_at: string
  started_at: string | null
  finished_at: string | null
  /** The seed of the run's random numbers. */
  seed: number | null
  /** The waits of a suspended job as the JSON text of a list, in the form of `jobs/waits`; otherwise null. */
  waiting: string | null
  /** When the server must handle a job that does not run, in milliseconds since the epoch; or null. */
  wake_at: number | null
  /** The preflight that admitted the job, as JSON text with secrets redacted; null: the job needed none. */
  preflight: string | null
  /** The number of parts of a large result's text; null: it is in `result`. A row in memory always has the whole text. */
  result_parts: number | null
}

/** A part of the text of a large result. It is written before the row of the job counts it. */
export interface ResultPartTable {
  job_key: number
  /** From 0 on. */
  at: number
  body: string
}

/** The encrypted journal of a job, which is never served: page 0 holds the parameters, other pages the state of the run. */
export interface JobJournalTable {
  job_key: number
  page: number
  attempt: number
  body: Uint8Array
}

/** A large value of a job's journal, in an encrypted file of its own. */
export interface SpilledValueTable {
  content_key: string
  /** Null: no job needs the value, and its file is about to be removed. */
  job_key: number | null
  /** The size of the file in bytes, and its SHA-256. */
  size: number
  sha256: string
}

/** `workspace` is '' outside of any. */
export interface IdempotencyKeyTable {
  user_id: string
  workspace: string
  key: string
  request_sha256: string
  job_key: number
  created_at: string
}

/** What remains of a job after its retention. */
export interface JobTombstoneTable {
  user_id: string
  workspace: string
  id: string
  expired_at: string
}

/** A job without a row whose events or journal are still to be removed, or a completed job whose journal is. */
export interface JobDoomedTable {
  job_key: number
}

/** The position of a sweep over the jobs in the order of their ends. */
export interface SweepPositionTable {
  sweep: string
  finished_at: string
  job_key: number
}

export interface JobEventTable {
  job_key: number
  sequence: number
  type: string
  payload: string
  created_at: string
}

/** The number of events that were removed from a living job's history, for each status of a node and for each output (`status` is '' then). */
export interface JobTrimmedTable {
  job_key: number
  type: string
  name: string
  status: string
  count: number
}

export interface JobTables {
  job: JobTable
  result_part: ResultPartTable
  job_journal: JobJournalTable
  spilled_value: SpilledValueTable
  idempotency_key: IdempotencyKeyTable
  job_tombstone: JobTombstoneTable
  job_doomed: JobDoomedTable
  sweep_position: SweepPositionTable
  job_event: JobEventTable
  job_trimmed: JobTrimmedTable
}
