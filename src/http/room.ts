// What a file system says that takes nothing now, as an answer.
import { codeOf } from '../db/faults.ts'
import { ServiceError } from '../errors.ts'

/** It has no room, or none now. */
const LATER = ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE']

/** An error of keeping bytes, as what the client is told: to come again where that may help. */
export function tellingLater(error: unknown): unknown {
  return LATER.includes(codeOf(error)) ? new ServiceError('SERVICE_UNAVAILABLE', { cause: error }) : error
}
