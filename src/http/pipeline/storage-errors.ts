// What a file system says that takes nothing now, as an answer.
import { errorCode } from '../../db/health/database-faults.ts'
import { ServiceError } from '../../errors.ts'

/** It has no room, or none now. */
const TEMPORARY_ERROR_CODES = ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE']

/** An error of keeping bytes, as what the client is told: to come again where that may help. */
export function translateStorageError(error: unknown): unknown {
  return TEMPORARY_ERROR_CODES.includes(errorCode(error))
    ? new ServiceError('SERVICE_UNAVAILABLE', { cause: error })
    : error
}
