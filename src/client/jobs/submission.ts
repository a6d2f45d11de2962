// One submission, and what becomes of it when its caller gives up: nothing is sent any more, but what may have arrived is waited for,
// so that the job that it made can be told of, or cancelled.

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

/** The job, once it is accepted. @throws ServiceError, or the reason of the signal */
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
