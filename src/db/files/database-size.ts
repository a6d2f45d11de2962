// Measures the size of the database on the disk, and gives free pages back to the file system: some at a time, since each free page is replaced by a
// used page from the end of the file.
import type { Statement } from 'better-sqlite3'
import { openReadOnlyConnection, type SqliteConnection } from '../connection.ts'

/** The size of a database file, in pages. */
export interface DatabaseFileSize {
  readonly page_bytes: number
  readonly pages: number
  /** The number of pages without content. */
  readonly free_pages: number
}

export interface DatabaseSize extends DatabaseFileSize {
  /** The length of the write-ahead log. */
  readonly log_pages: number
}

/** SQLite's default files do not shrink; with this `PRAGMA auto_vacuum` they can. The pragma returns the number. */
export const AUTO_VACUUM_SETTING = 'INCREMENTAL'
export const AUTO_VACUUM_INCREMENTAL = 2

/** The part of the file that may be free: new rows use it before the file grows again. */
const FREE_PART = 1 / 20
const FREE_PAGES = 256
/** While the log is longer than this, in pages, no pages are moved, since that makes the log longer. */
const LONG_LOG = 8_192

export class FreePageSpace {
  readonly #db: SqliteConnection
  readonly #log: Statement<[], { log: number }>
  /** Whether free pages can be given back. */
  readonly canShrink: boolean

  constructor(db: SqliteConnection) {
    this.#db = db
    // Only reports the state.
    this.#log = db.prepare('pragma wal_checkpoint(NOOP)')
    this.canShrink = db.pragma('auto_vacuum', { simple: true }) === AUTO_VACUUM_INCREMENTAL
  }

  measure(): DatabaseSize {
    return { ...measureFile(this.#db), log_pages: Math.max(0, this.#log.get()!.log) }
  }

  /** The number of excess free pages that can be given back now. */
  countExcessPages(): number {
    const { pages, free_pages, log_pages } = this.measure()
    if (!this.canShrink || log_pages > LONG_LOG) return 0
    return Math.max(0, free_pages - FREE_PAGES - Math.floor(pages * FREE_PART))
  }

  /** Gives back at most `pages` pages, within the open transaction. */
  releasePages(pages: number): void {
    // Executed rather than prepared: a prepared statement gives back a single page per step.
    this.#db.exec(`pragma incremental_vacuum(${pages})`)
  }
}

/** The size of the database file at `path`, even while a server writes it. @throws the error of SQLite */
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
