// What a client can do with jobs, whichever operations the server has for it.

import type { JobSnapshot, JobStatus } from '../../../generated/types.ts'
import type { WorkflowInputs } from '../workflow-value-types.ts'
import type { JobHistory } from './history.ts'
import type { PendingSubmission } from './pending-submission.ts'

/** How a job is submitted. What a door has no use for is ignored by it. */
export interface SubmitOptions {
  /**
   * Aborting it gives up the wait for the acknowledgement, at once. What has not left is not sent; a job that is accepted all the same runs on,
   * unless `cancel_on_abort` is set. `onAccepted` is told of it, and submitting again with the same `idempotency_key` gives it.
   */
  signal?: AbortSignal
  /** True: a job that is accepted after `signal` was aborted is cancelled, in the background. */
  cancel_on_abort?: boolean
  /** Is given the job's id as soon as it is known, also after `signal` was aborted. What it throws is handed on, unless nobody waits any more. */
  onAccepted?: (job_id: string) => void
  /** Makes repeated submissions one, within the time that capabilities advertise, where the server has jobs of the profile. Absent: a random one. */
  idempotency_key?: string
  /** Correlates logs. Absent: a random one. */
  client_request_id?: string
  /** The etag of the workflow that the inputs were made for. Absent: it is read beforehand. */
  workflow_etag?: string
  workspace_id?: string
  /** False: wait behind a running job of the same workflow. */
  concurrent?: boolean
}

/** A job as it was acknowledged. */
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
