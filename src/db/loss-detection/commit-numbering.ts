// Numbers the commits of a database. Each transaction that changes rows writes its number into the database, and after the commit, before any answer,
// into the mark file. A start compares the two.
import { randomBytes } from 'node:crypto'
import type { Statement } from 'better-sqlite3'
import type { Durability, SqliteConnection } from '../connection.ts'
import { computeRowChecksum, verifyRow } from '../integrity/row-checksum.ts'
import { CommitMarkFile, commitMarkPath } from './commit-mark-file.ts'

/** The last commit that a database holds. */
export interface LastCommit {
  readonly database: string
  readonly number: number
  readonly time: number
}

/** The row of `meta` with the last commit. */
const LAST_COMMIT_ROW = 'last commit'
const ID_BYTES = 8

/** The last commit that the database holds; null: it has no numbered commit. @throws DamagedRowError, or the error of SQLite */
export function readLastCommit(db: SqliteConnection): LastCommit | null {
  // The database of an old version may lack the table.
  if (db.prepare("select 1 from sqlite_schema where name = 'meta'").get() === undefined) return null
  const row = db.prepare('select * from meta where name = ?').get(LAST_COMMIT_ROW) as
    | Record<string, unknown>
    | undefined
  if (row === undefined) return null
  verifyRow('meta', row)
  const [database = '', number, time] = String(row.value).split(' ')
  return { database, number: Number(number), time: Number(time) }
}

/** Milliseconds between two reports of a mark that cannot be written. */
const FAILURE_INTERVAL_MS = 60_000

export class CommitNumbering implements Disposable {
  readonly #database: string
  readonly #update: Statement
  readonly #insert: Statement
  readonly #file: CommitMarkFile
  readonly #onWriteFailed: (error: unknown) => void
  #number: number
  #time = 0
  #lastFailureAt = Number.NEGATIVE_INFINITY

  /** `failed` receives the error of a mark that cannot be written. */
  constructor(db: SqliteConnection, durability: Durability, failed: (error: unknown) => void) {
    const last = readLastCommit(db)
    this.#database = last?.database ?? randomBytes(ID_BYTES).toString('hex')
    this.#number = last?.number ?? 0
    this.#update = db.prepare('update meta set value = ?, checksum = ? where name = ?')
    this.#insert = db.prepare('insert into meta (value, checksum, name) values (?, ?, ?)')
    this.#file = new CommitMarkFile(commitMarkPath(db.name), this.#database, durability)
    this.#onWriteFailed = failed
  }

  /** Writes the number of the open transaction, as a part of it. @throws the error of SQLite */
  numberTransaction(): void {
    this.#time = Date.now()
    const value = `${this.#database} ${this.#number + 1} ${this.#time}`
    const checksum = computeRowChecksum('meta', (place) => (place === 0 ? LAST_COMMIT_ROW : value))
    if (this.#update.run(value, checksum, LAST_COMMIT_ROW).changes === 0)
      this.#insert.run(value, checksum, LAST_COMMIT_ROW)
  }

  /** Writes the mark of the transaction, which is committed and durable. It never throws: the commit counts without a mark as well. */
  recordCommit(): void {
    this.#number++
    try {
      this.#file.write(this.#number, this.#time)
    } catch (error) {
      const now = performance.now()
      if (now - this.#lastFailureAt < FAILURE_INTERVAL_MS) return
      this.#lastFailureAt = now
      this.#onWriteFailed(error)
    }
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]()
  }
}
