// What tests of the store's faults need: hold of its connections, places that run out of room, and damage.
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

/** Puts a job in a transaction, which takes about so many bytes. */
export function putting(key: number, bytes = 1): (tx: Tx) => void {
  return (tx) => putJob(tx, jobRow(key, { name: 'x'.repeat(bytes) }))
}

/** A line of a log, as far as tests look at it. 30 is info, 40 a warning, 50 an error. */
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

/** Every connection that is opened in this process while it is in use; also those that tests did not ask for. */
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

/** The connection of each thread that copies a write-ahead log in this process: what `PRAGMA synchronous` says there. */
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
  /** Mounts it again with other options, such as `ro`. */
  again(options: string): void
}

/** A folder with a file system of its own of so many bytes in memory. @throws where this process may not mount */
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

/** Unmounts a folder when this process is gone, also where it is killed: then nothing of it but a pipe says so. */
function unmountAtEnd(folder: string): Disposable {
  const script = 'cat; umount -l "$0" && rmdir "$0"'
  const child = spawn('sh', ['-c', script, folder], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  child.unref()
  const stdin = child.stdin as Socket
  stdin.unref()
  return { [Symbol.dispose]: () => void stdin.end() }
}

/** `path` as seen through another folder that cannot be written. @throws where this process may not mount */
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

/** False, or why no test here can mount: the value of a test's `skip`. Where it is expected that they can, those that need it fail. */
export const cannotMount: string | false = (() => {
  if (process.env.SVC_TEST_EXPECT?.split(',').includes('mounts')) return false
  try {
    smallDisk(64 * 1024)[Symbol.dispose]()
    return false
  } catch {
    return 'skipped: mounting needs Linux and its administrator'
  }
})()

/** Overwrites a page of a database's file, counted from 1. */
export function damagePage(path: string, page: number, page_bytes = 4096): void {
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(page_bytes, 0x5a), 0, page_bytes, (page - 1) * page_bytes)
  closeSync(file)
}

/** Takes the last row off a small table behind the back of its database: one bit of the number of rows on its page. */
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

/** Where the header of a page says how many cells it has. */
const CELL_COUNT = 3

/** The first page of a table: everything in it is reached through it. */
export function rootPage(db: SqliteConnection, table: string): number {
  return db.prepare('select rootpage from sqlite_schema where name = ?').pluck().get(table) as number
}

/** Takes all the room that a disk has left. */
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

/** Bytes of a file; 0 where there is none. */
export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
