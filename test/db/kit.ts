// Tools for tests of the store's faults: access to its connections, disks that run full, and damage.
import { execFileSync, spawn } from 'node:child_process'
import { closeSync, openSync, readSync, rmSync, statSync, writeSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import Database from 'better-sqlite3'
import { pino } from 'pino'
import { connectionChannel, type SqliteConnection } from '../../src/db/connection.ts'
import { statement } from '../../src/db/statement.ts'
import type { Tx } from '../../src/db/store.ts'
import { checkpointThreadChannel } from '../../src/db/wal/checkpoint-thread.ts'
import type { Log } from '../../src/log.ts'
import { temporaryFolder } from '../helpers/server.ts'
import { jobRow, putJob } from '../helpers/store.ts'

const jobKeys = statement()((db) => db.selectFrom('job').select('key').orderBy('key'))

/** The keys of all jobs. */
export function keysOf(tx: Tx): number[] {
  return tx.all(jobKeys, {}).map((row) => row.key)
}

/** Stores a job of about so many bytes in a transaction. */
export function putting(key: number, bytes = 1): (tx: Tx) => void {
  return (tx) => putJob(tx, jobRow(key, { name: 'x'.repeat(bytes) }))
}

/** A line of a log with the fields that tests read. 30 is info, 40 a warning, 50 an error. */
export interface LogLine {
  level: number
  msg: string
  code?: string
  [field: string]: unknown
}

/** A log that keeps its lines. */
export function memoryLog(): { log: Log; lines: LogLine[] } {
  const lines: LogLine[] = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)) as LogLine)
      done()
    },
  })
  return { lines, log: pino({ level: 'info', base: null }, stream) }
}

/** Every connection that is opened in this process during `use`, including those that tests did not open. */
export function watchConnections(): Disposable & {
  readonly opened: readonly SqliteConnection[]
  of(path: string): SqliteConnection
} {
  const opened: SqliteConnection[] = []
  const listener = (db: unknown) => void opened.push(db as SqliteConnection)
  connectionChannel.subscribe(listener)
  return {
    opened,
    of(path) {
      const found = opened.findLast((db) => db.open && db.name === path)
      if (!found) throw new Error(`nobody has opened ${path}`)
      return found
    },
    [Symbol.dispose]: () => void connectionChannel.unsubscribe(listener),
  }
}

/** The connection of each checkpoint thread of this process: its value of `PRAGMA synchronous`. */
export function watchCopiers(): Disposable & { of(path: string): readonly number[] } {
  const opened: { name: string; synchronous: number }[] = []
  const listener = (one: unknown) => void opened.push(one as { name: string; synchronous: number })
  checkpointThreadChannel.subscribe(listener)
  return {
    of: (path) => opened.filter(({ name }) => name === path).map(({ synchronous }) => synchronous),
    [Symbol.dispose]: () => void checkpointThreadChannel.unsubscribe(listener),
  }
}

export interface Mount extends Disposable {
  readonly path: string
  /** Remounts the disk with other options, such as `ro`. */
  again(options: string): void
}

/** A folder with a file system in memory of so many bytes. @throws if this process may not mount */
export function smallDisk(bytes: number): Mount {
  const folder = temporaryFolder()
  try {
    mount('-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder)
  } catch (error) {
    rmSync(folder, { recursive: true })
    throw error
  }
  const watchdog = unmountAtEnd(folder)
  return {
    path: folder,
    again: (options) => mount('-o', `remount,${options}`, folder),
    [Symbol.dispose]() {
      execFileSync('umount', ['-l', folder])
      rmSync(folder, { recursive: true })
      watchdog[Symbol.dispose]()
    },
  }
}

/** Unmounts a folder when this process has ended, even if it was killed: only a closed pipe tells of that. */
function unmountAtEnd(folder: string): Disposable {
  const script = 'cat; umount -l "$0" && rmdir "$0"'
  const child = spawn('sh', ['-c', script, folder], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  child.unref()
  const stdin = child.stdin as Socket
  stdin.unref()
  return { [Symbol.dispose]: () => void stdin.end() }
}

/** `path` as seen through another folder that cannot be written. @throws if this process may not mount */
export function readOnlyView(path: string): Mount {
  const folder = temporaryFolder()
  try {
    mount('--bind', path, folder)
    mount('-o', 'remount,bind,ro', folder)
  } catch (error) {
    rmSync(folder, { recursive: true })
    throw error
  }
  return {
    path: folder,
    again: (options) => mount('-o', `remount,bind,${options}`, folder),
    [Symbol.dispose]() {
      execFileSync('umount', ['-l', folder])
      rmSync(folder, { recursive: true })
    },
  }
}

function mount(...args: string[]): void {
  execFileSync('mount', args, { stdio: ['ignore', 'ignore', 'pipe'] })
}

/** False, or why tests cannot mount here: the value of a test's `skip`. Where mounting is expected to work, those tests fail instead. */
export const cannotMount: string | false = (() => {
  if (process.env.SVC_TEST_EXPECT?.split(',').includes('mounts')) return false
  try {
    smallDisk(64 * 1024)[Symbol.dispose]()
    return false
  } catch {
    return 'skipped: mounting needs Linux and its administrator'
  }
})()

/** Overwrites a page of a database file, counted from 1. */
export function damagePage(path: string, page: number, page_bytes = 4096): void {
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(page_bytes, 0x5a), 0, page_bytes, (page - 1) * page_bytes)
  closeSync(file)
}

/** Removes the last row of a small table without the database: one bit of the number of rows on its page. */
export function loseLastRow(path: string, table: string, page_bytes = 4096): void {
  const db = new Database(path, { readonly: true })
  const at = (rootPage(db, table) - 1) * page_bytes + CELL_COUNT
  db.close()
  const file = openSync(path, 'r+')
  const count = Buffer.alloc(2)
  readSync(file, count, 0, 2, at)
  count.writeUInt16BE(count.readUInt16BE() - 1)
  writeSync(file, count, 0, 2, at)
  closeSync(file)
}

/** The position of the number of cells in the header of a page. */
const CELL_COUNT = 3

/** The first page of a table, through which all its rows are reached. */
export function rootPage(db: SqliteConnection, table: string): number {
  return db.prepare('select rootpage from sqlite_schema where name = ?').pluck().get(table) as number
}

/** Fills the rest of a disk. */
export function fill(folder: string): Disposable {
  const path = join(folder, 'filler')
  const file = openSync(path, 'w')
  for (const bytes of [65_536, 4_096, 1]) {
    try {
      for (;;) writeSync(file, Buffer.alloc(bytes))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
  closeSync(file)
  return { [Symbol.dispose]: () => rmSync(path, { force: true }) }
}

/** The bytes of a file; 0 if there is none. */
export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
