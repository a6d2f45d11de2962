// The error for a submitter whose job is stored, or may be, but can no longer be waited for. It names the job, so that the job is not submitted twice. After
// any other error of a submission, no job was stored.
import { ServiceError } from '../../errors.ts'

/** OUTCOME_UNKNOWN with the job's id, and its HTTP URL in `Location`. */
export function createOutcomeUnknownError(job_id: string, cause?: unknown): ServiceError {
  const headers = { Location: `/api/jobs/${encodeURIComponent(job_id)}` }
  return new ServiceError('OUTCOME_UNKNOWN', { job_id, headers, cause })
}
