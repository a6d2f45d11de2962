// The room that the database takes on the disk, and how pages that are free are given back to the file system: some at a time, since a page that is
// used is moved into the place of each free one before the end of the file.
import type { Statement } from 'better-sqlite3'
import { openReadOnlyConnection, type SqliteConnection } from '../connection.ts'

/** What the file of a database takes, in pages. */
export interface DatabaseFileSize {
  readonly page_bytes: number
  readonly pages: number
  /** Of these, the ones that hold nothing. */
  readonly free_pages: number
}

export interface DatabaseSize extends DatabaseFileSize {
  /** Of the write-ahead log. */
  readonly log_pages: number
}

/** A file as SQLite makes it by default does not shrink; with this `PRAGMA auto_vacuum` it can, and the pragma answers with the number. */
export const AUTO_VACUUM_SETTING = 'INCREMENTAL'
export const AUTO_VACUUM_INCREMENTAL = 2

/** So much of the file may be free: new rows take it before the file grows again. */
const FREE_PART = 1 / 20
const FREE_PAGES = 256
/** While the log is longer than that, in pages, nothing is moved: moved pages make it longer. */
const LONG_LOG = 8_192

export class FreePageSpace {
  readonly #db: SqliteConnection
  readonly #log: Statement<[], { log: number }>
  /** Whether free pages can be given back. */
  readonly canShrink: boolean

  constructor(db: SqliteConnection) {
    this.#db = db
    // Does nothing but tell.
    this.#log = db.prepare('pragma wal_checkpoint(NOOP)')
    this.canShrink = db.pragma('auto_vacuum', { simple: true }) === AUTO_VACUUM_INCREMENTAL
  }

  measure(): DatabaseSize {
    return { ...measureFile(this.#db), log_pages: Math.max(0, this.#log.get()!.log) }
  }

  /** How many free pages are too many, and can be given back now. */
  countExcessPages(): number {
    const { pages, free_pages, log_pages } = this.measure()
    if (!this.canShrink || log_pages > LONG_LOG) return 0
    return Math.max(0, free_pages - FREE_PAGES - Math.floor(pages * FREE_PART))
  }

  /** Gives back at most `pages` pages, within the transaction that is open. */
  releasePages(pages: number): void {
    // It is executed and not prepared: a prepared one gives back a single page for each step.
    this.#db.exec(`pragma incremental_vacuum(${pages})`)
  }
}

/** What the file of the database at `path` takes, also where a server writes it. @throws what SQLite says */
export function readDatabaseFileSize(path: string): DatabaseFileSize {
  const db = openReadOnlyConnection(path)
  try {
    return measureFile(db)
  } finally {
    db.close()
  }
}

function measureFile(db: SqliteConnection): DatabaseFileSize {
  const count = (name: string) => db.pragma(name, { simple: true }) as number
  return { page_bytes: count('page_size'), pages: count('page_count'), free_pages: count('freelist_count') }
}
