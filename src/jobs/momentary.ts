// Tells faults that may pass by themselves from lasting ones, where stored data of a job cannot be read. After a passing fault the job is as it was,
// and the caller may try again. A file that is missing, or a page that does not open, does not come back.
import { codeOf } from '../db/faults.ts'
import { ServiceError } from '../errors.ts'

/** Codes of faults of the disk, the database or the process that may pass. */
const PASSING = /^(?:ENOSPC|EDQUOT|EROFS|EIO|EMFILE|ENFILE|ENOMEM|EBUSY|EAGAIN|EACCES|EPERM|SQLITE_(?!CORRUPT|NOTADB))/

/** The error for a fault that may pass: SERVICE_UNAVAILABLE. Null for a lasting fault. */
export function momentaryFault(cause: unknown): ServiceError | null {
  if (cause instanceof ServiceError) return cause.code === 'SERVICE_UNAVAILABLE' ? cause : null
  return PASSING.test(codeOf(cause)) ? new ServiceError('SERVICE_UNAVAILABLE', { cause }) : null
}
