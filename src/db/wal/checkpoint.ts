// Copies the write-ahead log into the file of a database. The mark beside it says so meanwhile: a file that holds only a part of what is copied, and
// has no log any more, is a mixture of old rows and new ones that nothing else tells.
import type { SqliteConnection } from '../connection.ts'
import {
  commitMarkPath,
  isCheckpointRecorded,
  recordCheckpointEnd,
  recordCheckpointStart,
} from '../loss-detection/commit-mark-file.ts'
import { hasWal, isWalSound } from './wal-file.ts'

/** What SQLite says of a pass, in pages; -1 where another connection was at it. */
interface CheckpointResult {
  readonly busy: 0 | 1
  readonly log: number
  readonly checkpointed: number
}

/** One pass, without waiting: it copies what readers allow. What it cannot copy leaves a mixture as well. */
export function runPassiveCheckpoint(db: SqliteConnection): CheckpointResult {
  recordCheckpointStart(commitMarkPath(db.name))
  const [pass] = db.pragma('wal_checkpoint(PASSIVE)') as [CheckpointResult]
  if (pass.busy === 0 && pass.log === pass.checkpointed) recordCheckpointEnd(commitMarkPath(db.name))
  return pass
}

/** Whether a copying that has not come to its end left the database at `path`, and the log is gone, or is damaged so that SQLite takes it for empty. */
export function isPartlyCheckpointed(path: string): boolean {
  return isCheckpointRecorded(commitMarkPath(path)) && !isWalSound(path)
}

/** To be called when a connection to a database that had its log was closed: the last one copies all of it, and removes it. */
export function clearFinishedCheckpoint(path: string): void {
  if (!hasWal(path)) recordCheckpointEnd(commitMarkPath(path))
}
