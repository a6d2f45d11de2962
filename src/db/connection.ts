// Connections to SQLite. Every one that the service opens is opened here, so that each is as durable as the setting says.
import { channel } from 'node:diagnostics_channel'
import Database from 'better-sqlite3'
import { makeDatabasePrivate } from './files/file-permissions.ts'

export type SqliteConnection = Database.Database

/**
 * When a commit counts. `full`: when the disk says that it has it. `normal`: when the system has it, which the end of the process
 * does not undo and the end of the power may.
 */
export type Durability = 'full' | 'normal'

export interface ConnectionOptions {
  durability?: Durability
  readonly?: boolean
  /** Whether the file has to be there already; it has to for one that only reads. */
  exists?: boolean
  /** How long a statement waits for another connection's lock, in milliseconds. */
  busy_ms?: number
}

const BUSY_MS = 5_000

/** Hears of each connection when it is opened: a test looks at all of them, and at what they could do. */
export const connectionChannel = channel('svc:database-connection')

const IN_MEMORY = ':memory:'

/** Opens `path`; a connection that only reads makes no file, and others may use none that is made. Throws what SQLite says. */
export function openConnection(path: string, options: ConnectionOptions = {}): SqliteConnection {
  const { durability = 'full', readonly = false, exists = readonly, busy_ms = BUSY_MS } = options
  if (!exists && path !== IN_MEMORY) makeDatabasePrivate(path)
  const db = new Database(path, { readonly, fileMustExist: exists, timeout: busy_ms })
  try {
    // Said before the journal mode is: this build of SQLite gives a database in WAL mode less, unless it was told.
    db.pragma(`synchronous = ${durability}`)
    connectionChannel.publish(db)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** Opens a database that is only looked at, also one that a server is writing. Its folder has to be writable: SQLite makes files beside it. Throws what SQLite says. */
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
