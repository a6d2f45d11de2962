// The thread that writes a database anew. It locks the old file, looks through its structure, copies it row by row into a new one, and gives that the old one's name. Killed at any
// moment, one of the two files is whole under the name of the database, and none has a log beside it that belongs to the other.
import { chownSync, existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { type Connection, connect } from './connection.ts'
import { copyLog } from './copying.ts'
import { codeOf } from './faults.ts'
import { hasLog } from './log-file.ts'
import { keepDatabasePrivate } from './private-files.ts'
import type { RewriteData, Rewritten } from './rewriting.ts'
import { syncFile } from './snapshot.ts'
import { INCREMENTAL, SHRINKING } from './space.ts'
import { structureDamages } from './structure.ts'

const BUSY_MS = 1_000

function rewrite({ path, to, durability }: RewriteData): Rewritten {
  const db = connect(path, { durability, exists: true, busy_ms: BUSY_MS })
  try {
    alone(db)
    // A copy holds what can be reached, and looks sound: of what cannot, nothing would be left to tell.
    const damages = structureDamages(db)
    if (damages.length > 0) return { kind: 'damaged', damages }
    db.pragma(`auto_vacuum = ${SHRINKING}`)
    // SQLite writes into an empty file as into one that it makes.
    keepDatabasePrivate(to)
    db.prepare('vacuum into ?').run(to)
    check(to, durability)
    const { uid, gid } = statSync(path)
    if (statSync(to).uid !== uid) chownSync(to, uid, gid)
    syncFile(to)
    // Of the change of its mode, which is committed: a connection that keeps its lock keeps the file as well.
    rmSync(`${path}-journal`, { force: true })
    for (const ending of ['-wal', '-shm']) if (existsSync(path + ending)) throw new Error(`${path}${ending} is there`)
    // The names that are gone must stay gone, also after a power cut: a log beside the new file would be taken for its own.
    syncFile(dirname(path))
    renameSync(to, path)
    syncFile(dirname(path))
    return { kind: 'done' }
  } finally {
    db.close()
  }
}

/** Holds the file for this connection alone, and folds the log into it. SQLite says SQLITE_BUSY while anybody else has it open. */
function alone(db: Connection): void {
  if (hasLog(db.name)) copyLog(db)
  db.pragma('locking_mode = EXCLUSIVE')
  db.pragma('journal_mode = DELETE')
}

function check(path: string, durability: RewriteData['durability']): void {
  const db = connect(path, { durability, exists: true })
  try {
    const mode = db.pragma('auto_vacuum', { simple: true })
    if (mode !== INCREMENTAL) throw new Error(`the copy has auto_vacuum ${mode}`)
  } finally {
    db.close()
  }
}

function outcome(): Rewritten {
  try {
    return rewrite(workerData as RewriteData)
  } catch (error) {
    if (codeOf(error).startsWith('SQLITE_BUSY')) return { kind: 'busy' }
    return { kind: 'failed', message: error instanceof Error ? error.message : String(error) }
  }
}

parentPort!.postMessage(outcome())
