// Numbers the commits of a database. Each transaction that changes rows writes its number into the database, and after the commit, before anybody is
// answered, into the mark beside it. A start compares the two.
import { randomBytes } from 'node:crypto'
import type { Statement } from 'better-sqlite3'
import { checksumOf, verifyRow } from './checksum.ts'
import type { Connection, Durability } from './connection.ts'
import { MarkFile, markPath } from './mark-file.ts'

/** The last commit that a database holds. */
export interface LastCommit {
  readonly database: string
  readonly number: number
  readonly time: number
}

/** The row of `meta` that holds it. */
const NAME = 'last commit'
const ID_BYTES = 8

/** The last commit that the database holds; null where it has numbered none. @throws DamagedRow, what SQLite says */
export function lastCommitIn(db: Connection): LastCommit | null {
  // An old version may have left it without the table.
  if (db.prepare("select 1 from sqlite_schema where name = 'meta'").get() === undefined) return null
  const row = db.prepare('select * from meta where name = ?').get(NAME) as Record<string, unknown> | undefined
  if (row === undefined) return null
  verifyRow('meta', row)
  const [database = '', number, time] = String(row.value).split(' ')
  return { database, number: Number(number), time: Number(time) }
}

/** A mark that cannot be written is told so often, in milliseconds. */
const TELL_EVERY_MS = 60_000

export class CommitMark implements Disposable {
  readonly #database: string
  readonly #update: Statement
  readonly #insert: Statement
  readonly #file: MarkFile
  readonly #failed: (error: unknown) => void
  #number: number
  #time = 0
  #toldAt = Number.NEGATIVE_INFINITY

  /** `failed` hears of a mark that cannot be written. */
  constructor(db: Connection, durability: Durability, failed: (error: unknown) => void) {
    const last = lastCommitIn(db)
    this.#database = last?.database ?? randomBytes(ID_BYTES).toString('hex')
    this.#number = last?.number ?? 0
    this.#update = db.prepare('update meta set value = ?, checksum = ? where name = ?')
    this.#insert = db.prepare('insert into meta (value, checksum, name) values (?, ?, ?)')
    this.#file = new MarkFile(markPath(db.name), this.#database, durability)
    this.#failed = failed
  }

  /** Writes the number of the transaction that is open, as a part of it. @throws what SQLite says */
  count(): void {
    this.#time = Date.now()
    const value = `${this.#database} ${this.#number + 1} ${this.#time}`
    const checksum = checksumOf('meta', (place) => (place === 0 ? NAME : value))
    if (this.#update.run(value, checksum, NAME).changes === 0) this.#insert.run(value, checksum, NAME)
  }

  /** The transaction is committed and durable. It never throws: the commit counts, with or without a mark. */
  keep(): void {
    this.#number++
    try {
      this.#file.write(this.#number, this.#time)
    } catch (error) {
      const now = performance.now()
      if (now - this.#toldAt < TELL_EVERY_MS) return
      this.#toldAt = now
      this.#failed(error)
    }
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]()
  }
}
