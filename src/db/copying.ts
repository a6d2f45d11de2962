// Copies the write-ahead log into the file of a database. The mark beside it says so meanwhile: a file that holds only a part of what is copied, and
// has no log any more, is a mixture of old rows and new ones that nothing else tells.
import type { Connection } from './connection.ts'
import { hasLog, isLogSound } from './log-file.ts'
import { forgetCopying, isCopying, markPath, noteCopying } from './mark-file.ts'

/** What SQLite says of a pass, in pages; -1 where another connection was at it. */
interface Pass {
  readonly busy: 0 | 1
  readonly log: number
  readonly checkpointed: number
}

/** One pass, without waiting: it copies what readers allow. What it cannot copy leaves a mixture as well. */
export function copyLog(db: Connection): Pass {
  noteCopying(markPath(db.name))
  const [pass] = db.pragma('wal_checkpoint(PASSIVE)') as [Pass]
  if (pass.busy === 0 && pass.log === pass.checkpointed) forgetCopying(markPath(db.name))
  return pass
}

/** Whether a copying that has not come to its end left the database at `path`, and the log is gone, or is damaged so that SQLite takes it for empty. */
export function isMixture(path: string): boolean {
  return isCopying(markPath(path)) && !isLogSound(path)
}

/** To be called when a connection to a database that had its log was closed: the last one copies all of it, and removes it. */
export function settleCopying(path: string): void {
  if (!hasLog(path)) forgetCopying(markPath(path))
}
