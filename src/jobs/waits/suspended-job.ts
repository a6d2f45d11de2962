// Continues a suspended job with the answers of its firings.
import type { JobTable } from '../../db/tables/jobs.ts'
import type { ActiveJob } from '../active-job.ts'
import type { ActiveJobRegistry } from '../active-job-registry.ts'

/** Takes over a job that this process does not hold. @throws QUEUE_FULL, SERVICE_UNAVAILABLE; the job stays suspended then */
export function continueSuspendedJob(
  registry: ActiveJobRegistry,
  row: JobTable,
  answers: readonly { firing: string; value: unknown }[],
): ActiveJob {
  const { job } = registry.adopt(row)
  let entered: 'start' | 'wait'
  try {
    // The journal must be readable before the job is admitted.
    void job.journal
    entered = registry.requestSlot(job)
  } catch (error) {
    job.detach()
    // The next try opens the feed again.
    registry.context.events.release(job.feed)
    throw error
  }
  for (const { firing, value } of answers) job.remember(['answer', firing, value])
  if (entered === 'start') job.start()
  else job.enqueue()
  return job
}
