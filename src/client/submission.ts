// One submission, and what becomes of it when its caller gives up: nothing is sent any more, but what may have arrived is waited for,
// so that the job that it made can be told of, or cancelled.
import type { SubmitOptions, Submitted } from './door.ts'
import type { Errands } from './errands.ts'
import { Flight } from './flight.ts'
import type { Job } from './job.ts'
import { unlessAborted } from './waiting.ts'

export interface SubmissionParts {
  readonly submit: (flight: Flight) => Promise<Submitted>
  readonly jobOf: (submitted: Submitted) => Job
  readonly errands: Errands
}

/** The job, once it is accepted. @throws ServiceError, or the reason of the signal */
export async function submission(
  { signal, cancel_on_abort = false, onAccepted }: SubmitOptions,
  { submit, jobOf, errands }: SubmissionParts,
): Promise<Job> {
  const flight = new Flight(signal, cancel_on_abort || onAccepted !== undefined)
  const accepted = submit(flight).then(jobOf)
  try {
    await unlessAborted(accepted, signal)
  } catch (error) {
    if (signal?.aborted)
      errands.run(async (limit) => {
        limit.addEventListener('abort', () => flight.stop(limit.reason))
        const job = await accepted
        await Promise.allSettled([
          cancel_on_abort ? job.cancel({ signal: limit }) : null,
          (async () => onAccepted?.(job.job_id))(),
        ])
      })
    throw error
  } finally {
    flight.over()
  }
  const job = await accepted
  onAccepted?.(job.job_id)
  return job
}
