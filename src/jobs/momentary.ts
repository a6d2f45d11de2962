// Which failures to read what is stored of a job pass by themselves: the job is as it was, and whoever asked may ask again. Anything else, such as a
// file that is missing or a page that does not open, stays so.
import { codeOf } from '../db/faults.ts'
import { ServiceError } from '../errors.ts'

/** What the disk, the database or the process does not do now, and may do later. */
const LATER = /^(?:ENOSPC|EDQUOT|EROFS|EIO|EMFILE|ENFILE|ENOMEM|EBUSY|EAGAIN|EACCES|EPERM|SQLITE_(?!CORRUPT|NOTADB))/

/** What to answer where a failure passes by itself: SERVICE_UNAVAILABLE. Null where it does not. */
export function momentaryFault(cause: unknown): ServiceError | null {
  if (cause instanceof ServiceError) return cause.code === 'SERVICE_UNAVAILABLE' ? cause : null
  return LATER.test(codeOf(cause)) ? new ServiceError('SERVICE_UNAVAILABLE', { cause }) : null
}
