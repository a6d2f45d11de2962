// Copies the write-ahead log into the database file, and records this in the mark file meanwhile. A file with a part of the copied pages and without
// its log mixes old and new rows, which only the mark reveals.
import type { SqliteConnection } from '../connection.ts'
import {
  commitMarkPath,
  isCheckpointRecorded,
  recordCheckpointEnd,
  recordCheckpointStart,
} from '../loss-detection/commit-mark-file.ts'
import { hasWal, isWalSound } from './wal-file.ts'

/** SQLite's report of a pass, in pages; -1 if another connection was making a checkpoint. */
interface CheckpointResult {
  readonly busy: 0 | 1
  readonly log: number
  readonly checkpointed: number
}

/** One pass, without waiting: it copies what readers allow. An incomplete copy leaves a mixture as well. */
export function runPassiveCheckpoint(db: SqliteConnection): CheckpointResult {
  recordCheckpointStart(commitMarkPath(db.name))
  const [pass] = db.pragma('wal_checkpoint(PASSIVE)') as [CheckpointResult]
  if (pass.busy === 0 && pass.log === pass.checkpointed) recordCheckpointEnd(commitMarkPath(db.name))
  return pass
}

/** Whether an unfinished checkpoint left the database at `path`, while its log is missing, or so damaged that SQLite treats it as empty. */
export function isPartlyCheckpointed(path: string): boolean {
  return isCheckpointRecorded(commitMarkPath(path)) && !isWalSound(path)
}

/** Must be called after closing a connection to a database with a log: the last connection copies the whole log and removes it. */
export function clearFinishedCheckpoint(path: string): void {
  if (!hasWal(path)) recordCheckpointEnd(commitMarkPath(path))
}
