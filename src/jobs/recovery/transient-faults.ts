// Tells faults that may pass by themselves from lasting ones, where stored data of a job cannot be read. After a passing fault the job is as it was,
// and the caller may try again. A file that is missing, or a page that does not open, does not come back.
import { errorCode, isDamagedFile } from '../../db/health/database-faults.ts'
import { ServiceError } from '../../errors.ts'

/** Codes of faults of files that may pass, by themselves or because somebody mends them. */
const TRANSIENT_FILE_CODES = /^(?:ENOSPC|EDQUOT|EROFS|EIO|EMFILE|ENFILE|ENOMEM|EBUSY|EAGAIN|EACCES|EPERM)$/

/** A file of a job cannot be read now: SERVICE_UNAVAILABLE, with the fault as its cause. */
export class TransientFileError extends ServiceError {
  constructor(cause: unknown) {
    super('SERVICE_UNAVAILABLE', { cause })
  }
}

/** The error for a fault that may pass: SERVICE_UNAVAILABLE. Null for a lasting fault. */
export function toTransientFault(cause: unknown): ServiceError | null {
  if (cause instanceof ServiceError) return cause.code === 'SERVICE_UNAVAILABLE' ? cause : null
  const code = errorCode(cause)
  if (TRANSIENT_FILE_CODES.test(code)) return new TransientFileError(cause)
  return code.startsWith('SQLITE_') && !isDamagedFile(cause) ? new ServiceError('SERVICE_UNAVAILABLE', { cause }) : null
}
