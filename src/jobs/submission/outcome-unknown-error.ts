// What a submitter is told whose job is stored, or may be, though nobody can wait for it here any more: the error names the job, so that it is
// not submitted twice. Every other error of a submission means that nothing was stored.
import { ServiceError } from '../../errors.ts'

/** OUTCOME_UNKNOWN with the job's id, and where it is found over HTTP. */
export function createOutcomeUnknownError(job_id: string, cause?: unknown): ServiceError {
  const headers = { Location: `/api/jobs/${encodeURIComponent(job_id)}` }
  return new ServiceError('OUTCOME_UNKNOWN', { job_id, headers, cause })
}
