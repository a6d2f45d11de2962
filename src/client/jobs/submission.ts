// Submits a job, and handles a caller that gives up. Nothing more is sent then, but the answer of a request that may have arrived is
// awaited. The caller then learns of the job, or the job is cancelled.

import { raceAbort } from '../abortable-waits.ts'
import type { BackgroundTasks } from '../background-tasks.ts'
import type { Job } from './job.ts'
import { PendingSubmission } from './pending-submission.ts'
import type { SubmitOptions, SubmittedJob } from './transport.ts'

export interface AbortableSubmissionParts {
  readonly submit: (flight: PendingSubmission) => Promise<SubmittedJob>
  readonly createJob: (submitted: SubmittedJob) => Job
  readonly backgroundTasks: BackgroundTasks
}

/** Resolves with the accepted job. @throws ServiceError, or the reason of the signal */
export async function submitAbortable(
  { signal, cancel_on_abort = false, onAccepted }: SubmitOptions,
  { submit, createJob, backgroundTasks }: AbortableSubmissionParts,
): Promise<Job> {
  const flight = new PendingSubmission(signal, cancel_on_abort || onAccepted !== undefined)
  const accepted = submit(flight).then(createJob)
  try {
    await raceAbort(accepted, signal)
  } catch (error) {
    if (signal?.aborted)
      backgroundTasks.run(async (limit) => {
        limit.addEventListener('abort', () => flight.abort(limit.reason))
        const job = await accepted
        await Promise.allSettled([
          cancel_on_abort ? job.cancel({ signal: limit }) : null,
          (async () => onAccepted?.(job.job_id))(),
        ])
      })
    throw error
  } finally {
    flight.detach()
  }
  const job = await accepted
  onAccepted?.(job.job_id)
  return job
}
