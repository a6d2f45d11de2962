// The thread that writes a database anew. It locks the old file, looks through its structure, copies it row by row into a new one, and gives that the old one's name. Killed at any
// moment, one of the two files is whole under the name of the database, and none has a log beside it that belongs to the other.
import { chownSync, existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { openConnection, type SqliteConnection } from '../connection.ts'
import { errorCode } from '../health/database-faults.ts'
import { findStructureDamages } from '../integrity/structure-damage.ts'
import { runPassiveCheckpoint } from '../wal/checkpoint.ts'
import { hasWal } from '../wal/wal-file.ts'
import type { CompactionResult, CompactionWorkerData } from './compaction.ts'
import { fsyncFile } from './database-copy.ts'
import { AUTO_VACUUM_INCREMENTAL, AUTO_VACUUM_SETTING } from './database-size.ts'
import { makeDatabasePrivate } from './file-permissions.ts'

const BUSY_MS = 1_000

function rewrite({ path, to, durability }: CompactionWorkerData): CompactionResult {
  const db = openConnection(path, { durability, exists: true, busy_ms: BUSY_MS })
  try {
    lockExclusively(db)
    // A copy holds what can be reached, and looks sound: of what cannot, nothing would be left to tell.
    const damages = findStructureDamages(db)
    if (damages.length > 0) return { kind: 'damaged', damages }
    db.pragma(`auto_vacuum = ${AUTO_VACUUM_SETTING}`)
    // SQLite writes into an empty file as into one that it makes.
    makeDatabasePrivate(to)
    db.prepare('vacuum into ?').run(to)
    checkCopy(to, durability)
    const { uid, gid } = statSync(path)
    if (statSync(to).uid !== uid) chownSync(to, uid, gid)
    fsyncFile(to)
    // Of the change of its mode, which is committed: a connection that keeps its lock keeps the file as well.
    rmSync(`${path}-journal`, { force: true })
    for (const ending of ['-wal', '-shm']) if (existsSync(path + ending)) throw new Error(`${path}${ending} is there`)
    // The names that are gone must stay gone, also after a power cut: a log beside the new file would be taken for its own.
    fsyncFile(dirname(path))
    renameSync(to, path)
    fsyncFile(dirname(path))
    return { kind: 'done' }
  } finally {
    db.close()
  }
}

/** Holds the file for this connection alone, and folds the log into it. SQLite says SQLITE_BUSY while anybody else has it open. */
function lockExclusively(db: SqliteConnection): void {
  if (hasWal(db.name)) runPassiveCheckpoint(db)
  db.pragma('locking_mode = EXCLUSIVE')
  db.pragma('journal_mode = DELETE')
}

function checkCopy(path: string, durability: CompactionWorkerData['durability']): void {
  const db = openConnection(path, { durability, exists: true })
  try {
    const mode = db.pragma('auto_vacuum', { simple: true })
    if (mode !== AUTO_VACUUM_INCREMENTAL) throw new Error(`the copy has auto_vacuum ${mode}`)
  } finally {
    db.close()
  }
}

function rewriteOrReport(): CompactionResult {
  try {
    return rewrite(workerData as CompactionWorkerData)
  } catch (error) {
    if (errorCode(error).startsWith('SQLITE_BUSY')) return { kind: 'busy' }
    return { kind: 'failed', message: error instanceof Error ? error.message : String(error) }
  }
}

parentPort!.postMessage(rewriteOrReport())
