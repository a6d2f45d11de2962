// Opens all connections of the service to SQLite, so that each has the configured durability.
import { channel } from 'node:diagnostics_channel'
import Database from 'better-sqlite3'
import { makeDatabasePrivate } from './files/file-permissions.ts'

export type SqliteConnection = Database.Database

/**
 * When a commit counts: `full` when the disk has it; `normal` when the operating system has it. With `normal`, a crash of the process loses nothing,
 * and a power cut may.
 */
export type Durability = 'full' | 'normal'

export interface ConnectionOptions {
  durability?: Durability
  readonly?: boolean
  /** Whether the file must exist; always true for a read-only connection. */
  exists?: boolean
  /** How long a statement waits for another connection's lock, in milliseconds. */
  busy_ms?: number
}

const BUSY_MS = 5_000

/** Publishes each connection when it is opened, so that tests can inspect all of them. */
export const connectionChannel = channel('svc:database-connection')

const IN_MEMORY = ':memory:'

/** Opens `path`. A read-only connection creates no file, and a created file is private to the user. Throws the error of SQLite. */
export function openConnection(path: string, options: ConnectionOptions = {}): SqliteConnection {
  const { durability = 'full', readonly = false, exists = readonly, busy_ms = BUSY_MS } = options
  if (!exists && path !== IN_MEMORY) makeDatabasePrivate(path)
  const db = new Database(path, { readonly, fileMustExist: exists, timeout: busy_ms })
  try {
    // Must precede the journal mode: this build of SQLite lowers the durability of a database in WAL mode unless it is set before.
    db.pragma(`synchronous = ${durability}`)
    connectionChannel.publish(db)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/**
 * Opens a database for reading, also while a server writes it. Its folder must be writable, because SQLite creates files beside the database. Throws
 * the error of SQLite.
 */
export function openReadOnlyConnection(path: string): SqliteConnection {
  const db = openConnection(path, { readonly: true })
  try {
    db.prepare('select count(*) from sqlite_schema').get()
    return db
  } catch (error) {
    db.close()
    throw error
  }
}
