// The database as a value: one connection, synchronous reads, and writes that share transactions.
// It owns pragmas, preparation, group commit and what follows a commit; what the rows mean is left to the repositories.
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import type { Compilable } from 'kysely'
import { StartError } from '../start-error.ts'
import { migrate } from './migrate.ts'
import type { Statement } from './statement.ts'

/** What a unit of work may do. It is valid only while the unit runs, and the unit is synchronous. */
export interface Tx {
  all<P, R>(statement: Statement<P, R>, params: P): R[]
  get<P, R>(statement: Statement<P, R>, params: P): R | undefined
  /** Returns the number of rows changed. */
  run<P, R>(statement: Statement<P, R>, params: P): number
  /** Runs a query that is built anew each time, because its shape depends on the request. */
  select<R>(query: Compilable<R>): R[]
}

/** A unit of work: synchronous and repeatable, because it runs again alone when a neighbour in its transaction fails. */
export type Unit<T> = (tx: Tx) => T

interface Pending {
  unit: Unit<unknown>
  value: unknown
  error: unknown
  failed: boolean
  done(entry: Pending): void
}

export class Store implements AsyncDisposable {
  readonly #db: Database.Database
  readonly #begin: Database.Statement
  readonly #commit: Database.Statement
  readonly #prepared = new Map<Statement<never, unknown>, Database.Statement>()
  readonly #tx: Tx
  #pending: Pending[] = []
  #scheduled = false
  #closed = false

  private constructor(db: Database.Database) {
    this.#db = db
    this.#begin = db.prepare('BEGIN IMMEDIATE')
    this.#commit = db.prepare('COMMIT')
    this.#tx = {
      all: (statement, params) => this.#prepare(statement).all(...statement.bind(params)) as never,
      get: (statement, params) => this.#prepare(statement).get(...statement.bind(params)) as never,
      run: (statement, params) => this.#prepare(statement).run(...statement.bind(params)).changes,
      select: (query) => {
        const { sql, parameters } = query.compile()
        return db.prepare(sql).all(...parameters) as never
      },
    }
  }

  /**
   * Opens and migrates the database at `path` (`:memory:` for one that is not kept).
   * @throws StartError in one clear line: not a database, from a newer version, not writable
   */
  static async open(path: string): Promise<Store> {
    const db = openFile(path)
    try {
      db.pragma('journal_mode = WAL')
      db.pragma('synchronous = FULL')
      db.pragma('foreign_keys = ON')
      db.pragma('busy_timeout = 5000')
      db.pragma('cache_size = -16384')
      // Pages between two copies of the write-ahead log into the file: with more, busy pages are copied less often.
      db.pragma('wal_autocheckpoint = 4000')
      // SQLite's own LIKE knows the case of ASCII letters alone.
      db.function('contains_text', { deterministic: true }, containsText)
      await migrate(db)
      return new Store(db)
    } catch (error) {
      db.close()
      throw describe(error, path)
    }
  }

  /** Runs a read at once. It sees everything that has been committed. */
  read<T>(unit: Unit<T>): T {
    return unit(this.#tx)
  }

  /**
   * Runs `unit` in the next transaction, together with what else is asked for in this round of the event loop and the
   * next, and settles after the commit. A unit that throws is undone alone.
   */
  write<T>(unit: Unit<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.writeThen(unit, (error, value) => (error === null ? resolve(value as T) : reject(error)))
    })
  }

  /** As `write`, with a callback that runs synchronously after the commit, in the order of the calls. */
  writeThen<T>(unit: Unit<T>, done: (error: unknown, value: T | undefined) => void): void {
    this.#pending.push({
      unit,
      value: undefined,
      error: null,
      failed: false,
      done: (entry) => done(entry.failed ? entry.error : null, entry.value as T | undefined),
    })
    if (this.#scheduled) return
    this.#scheduled = true
    // One more round gathers the requests that have arrived meanwhile: at ten connections it is worth a tenth of all runs.
    setImmediate(() => setImmediate(() => this.flush()))
  }

  /** Commits what is waiting, at once. */
  flush(): void {
    this.#scheduled = false
    const batch = this.#pending
    if (batch.length === 0) return
    this.#pending = []
    if (!this.#commitTogether(batch)) for (const entry of batch) this.#commitTogether([entry])
    for (const entry of batch) entry.done(entry)
  }

  /** One transaction for all. Returns false, with nothing written, when any unit or the commit failed. */
  #commitTogether(batch: readonly Pending[]): boolean {
    try {
      if (this.#closed) throw new Error('the store is closed')
      this.#begin.run()
      for (const entry of batch) {
        entry.value = entry.unit(this.#tx)
        // What comes after its first `await` would be written outside of the transaction.
        if (entry.value instanceof Promise) throw new Error('a unit of work must not be asynchronous')
      }
      this.#commit.run()
      return true
    } catch (error) {
      this.#rollback()
      if (batch.length > 1) return false
      for (const entry of batch) this.#fail(entry, error)
      return true
    }
  }

  #fail(entry: Pending, error: unknown): void {
    entry.failed = true
    entry.error = error ?? new Error('the unit threw nothing')
  }

  #rollback(): void {
    if (this.#db.inTransaction) this.#db.exec('ROLLBACK')
  }

  #prepare(statement: Statement<never, unknown>): Database.Statement {
    let prepared = this.#prepared.get(statement)
    if (!prepared) {
      prepared = this.#db.prepare(statement.sql)
      this.#prepared.set(statement, prepared)
    }
    return prepared
  }

  /** The value of a pragma, for tests and the health probe. */
  pragma(name: 'synchronous' | 'journal_mode' | 'foreign_keys'): unknown {
    return this.#db.pragma(name, { simple: true })
  }

  /** Every table, index and trigger as SQL, in a stable order. */
  dumpSchema(): string {
    const rows = this.#db
      .prepare("select sql from sqlite_master where sql is not null and name not like 'kysely%' order by type, name")
      .all() as { sql: string }[]
    return `${rows.map((row) => `${row.sql};`).join('\n')}\n`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return
    this.flush()
    this.#closed = true
    this.#db.close()
  }
}

/** 1 where `text` contains `part`, which is in lower case already. */
function containsText(text: unknown, part: unknown): number {
  return String(text).toLowerCase().includes(String(part)) ? 1 : 0
}

function openFile(path: string): Database.Database {
  if (path !== ':memory:' && !existsSync(dirname(path)))
    throw new StartError(`${path} cannot be opened: its folder does not exist`)
  try {
    return new Database(path)
  } catch (error) {
    throw describe(error, path)
  }
}

const DESCRIPTIONS: Readonly<Record<string, (path: string) => string>> = {
  SQLITE_NOTADB: (path) => `${path} is not a database; move it away or choose another data folder with SVC_DATA_DIR`,
  SQLITE_CORRUPT: (path) => `${path} is damaged; restore a backup or choose another data folder with SVC_DATA_DIR`,
  SQLITE_READONLY: (path) => `${path} cannot be written; check its owner and mode`,
  SQLITE_CANTOPEN: (path) => `${path} cannot be opened; check the folder's owner and mode`,
  SQLITE_BUSY: (path) => `${path} is locked by another program`,
}

function describe(error: unknown, path: string): unknown {
  const code = (error as { code?: unknown }).code
  if (typeof code !== 'string') return error
  const known = Object.keys(DESCRIPTIONS).find((prefix) => code.startsWith(prefix))
  return known ? new StartError(DESCRIPTIONS[known]!(path), { cause: error }) : error
}
