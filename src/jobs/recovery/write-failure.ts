// Failed writes of the history of a job: how lasting they are, and what is logged of them.
import type { JobTable } from '../../db/tables/jobs.ts'
import { isDamagedDataError, toServiceError } from '../../errors.ts'
import { logFailure } from '../../log.ts'
import { MemoryUnavailableError } from '../../payloads/fair-memory-account.ts'
import type { JobContext } from '../job-context.ts'
import { TransientFileError } from './transient-faults.ts'

/** `for_now`: a later write may succeed. `damaged`: the job can still be ended. `for_good`: not even that. */
export type HistoryWriteFailure = 'for_now' | 'damaged' | 'for_good'

/** `canEnd`: the end of the job can be written at least. */
export function classifyWriteFailure(cause: unknown, canEnd: boolean): HistoryWriteFailure {
  if (canEnd) return 'damaged'
  return isDamagedDataError(cause) ? 'for_good' : 'for_now'
}

/** `isFirst` is called for failures that are logged once for each job: whether this job's failure was not logged yet. */
export function logWriteFailure(
  { log, unreadableJobs }: JobContext,
  row: JobTable,
  cause: unknown,
  isFirst: () => boolean,
): void {
  const { id: job_id } = row
  if (cause instanceof TransientFileError) unreadableJobs.failed(row, cause)
  else if (cause instanceof MemoryUnavailableError) log.info({ job_id }, 'a job waits for memory')
  else if (isFirst()) logFailure(log, toServiceError(cause), { job_id }, 'the history of a job could not be written')
}
