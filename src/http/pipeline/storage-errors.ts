// Translates errors of a file system that temporarily cannot store data.
import { errorCode } from '../../db/health/database-faults.ts'
import { ServiceError } from '../../errors.ts'

/** The file system is full, or cannot write now. */
const TEMPORARY_ERROR_CODES = ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE']

/** Turns a temporary storage error into SERVICE_UNAVAILABLE, so that the client retries. Other errors pass unchanged. */
export function translateStorageError(error: unknown): unknown {
  return TEMPORARY_ERROR_CODES.includes(errorCode(error))
    ? new ServiceError('SERVICE_UNAVAILABLE', { cause: error })
    : error
}
