// What a client can do with jobs, over any operations of the server.

import type { JobSnapshot, JobStatus } from '../../../generated/types.ts'
import type { WorkflowInputs } from '../workflow-value-types.ts'
import type { JobHistory } from './history.ts'
import type { PendingSubmission } from './pending-submission.ts'

/** The options of a submission. A transport ignores the options that it does not support. */
export interface SubmitOptions {
  /**
   * Aborting it ends the wait for the acknowledgement at once. An unsent submission is not sent. A job that is accepted nevertheless runs
   * on, unless `cancel_on_abort` is set. `onAccepted` gets its id, and another submission with the same `idempotency_key` returns it.
   */
  signal?: AbortSignal
  /** True: a job that is accepted after `signal` was aborted is cancelled in the background. */
  cancel_on_abort?: boolean
  /**
   * Gets the job's id as soon as it is known, even after `signal` was aborted. Its
   * error rejects the submission, unless the caller has given up.
   */
  onAccepted?: (job_id: string) => void
  /**
   * Deduplicates repeated submissions within the time that the capabilities tell,
   * where the server has jobs of the profile. Absent: a random key.
   */
  idempotency_key?: string
  /** Correlates logs. Absent: a random id. */
  client_request_id?: string
  /** The etag of the workflow that the inputs match. Absent: the client reads the current one. */
  workflow_etag?: string
  workspace_id?: string
  /** False: the job waits behind a running job of the same workflow. */
  concurrent?: boolean
}

/** An acknowledged job. */
export interface SubmittedJob {
  job_id: string
  workflow_id: string
  status: JobStatus
}

export interface JobTransport {
  submit(
    workflow_id: string,
    inputs: WorkflowInputs,
    options: SubmitOptions,
    flight: PendingSubmission,
  ): Promise<SubmittedJob>
  /** Fills `history` until it is complete or the signal is aborted. @throws ServiceError where it cannot go on */
  follow(job_id: string, history: JobHistory, signal: AbortSignal): Promise<void>
  snapshot(job_id: string, signal?: AbortSignal): Promise<JobSnapshot>
  /** @returns the snapshot after the request */
  cancel(job_id: string, signal?: AbortSignal): Promise<JobSnapshot>
}
