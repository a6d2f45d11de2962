// The worker that rewrites a database: it locks the old file, checks its structure, copies it row by row into a new file, and renames that file into
// place. Whenever it is killed, a whole file has the name of the database, and no log of the other file lies beside it.
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
    // A copy holds only what can be reached, and looks sound: it would hide the loss of the rest.
    const damages = findStructureDamages(db)
    if (damages.length > 0) return { kind: 'damaged', damages }
    db.pragma(`auto_vacuum = ${AUTO_VACUUM_SETTING}`)
    // SQLite writes into an empty file as into a file that it creates.
    makeDatabasePrivate(to)
    db.prepare('vacuum into ?').run(to)
    checkCopy(to, durability)
    const { uid, gid } = statSync(path)
    if (statSync(to).uid !== uid) chownSync(to, uid, gid)
    fsyncFile(to)
    // The journal of the committed change of mode: a connection that keeps its lock keeps the file as well.
    rmSync(`${path}-journal`, { force: true })
    for (const ending of ['-wal', '-shm']) if (existsSync(path + ending)) throw new Error(`${path}${ending} is there`)
    // The removed names must stay removed even after a power cut: a log beside the new file would be taken for its own.
    fsyncFile(dirname(path))
    renameSync(to, path)
    fsyncFile(dirname(path))
    return { kind: 'done' }
  } finally {
    db.close()
  }
}

/** Locks the file exclusively, and copies the log into it. SQLite reports SQLITE_BUSY while another connection has it open. */
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
