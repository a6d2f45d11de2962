// Tells transient faults of reading stored job data from lasting ones. After a transient fault the job is unchanged, and the caller may try again. A missing
// file, or a page that cannot be decrypted, is a lasting fault.
import { errorCode, isDamagedFile } from '../../db/health/database-faults.ts'
import { ServiceError } from '../../errors.ts'

/** Codes of file faults that may pass, by themselves or after a repair. */
const TRANSIENT_FILE_CODES = /^(?:ENOSPC|EDQUOT|EROFS|EIO|EMFILE|ENFILE|ENOMEM|EBUSY|EAGAIN|EACCES|EPERM)$/

/** A file of a job cannot be read now: SERVICE_UNAVAILABLE, with the fault as its cause. */
export class TransientFileError extends ServiceError {
  constructor(cause: unknown) {
    super('SERVICE_UNAVAILABLE', { cause })
  }
}

/** The error for a transient fault: SERVICE_UNAVAILABLE. Null for a lasting fault. */
export function toTransientFault(cause: unknown): ServiceError | null {
  if (cause instanceof ServiceError) return cause.code === 'SERVICE_UNAVAILABLE' ? cause : null
  const code = errorCode(cause)
  if (TRANSIENT_FILE_CODES.test(code)) return new TransientFileError(cause)
  return code.startsWith('SQLITE_') && !isDamagedFile(cause) ? new ServiceError('SERVICE_UNAVAILABLE', { cause }) : null
}

/** The error for a fault that the caller takes for transient: SERVICE_UNAVAILABLE, unless the cause has a code already. */
export function toServiceUnavailable(cause: unknown): ServiceError {
  return cause instanceof ServiceError ? cause : new ServiceError('SERVICE_UNAVAILABLE', { cause })
}
