// What a unit of work receives: statements that are prepared once per connection, and counted.
import type Database from 'better-sqlite3'
import type { Compilable } from 'kysely'
import type { SqliteConnection } from './connection.ts'
import { verifiedTable } from './integrity/checksum-plugin.ts'
import { DamagedRowError } from './integrity/damaged-row.ts'
import { isChecksumValid, type TableName, verifyRow } from './integrity/row-checksum.ts'
import { decodeLongText, longTextColumn, withWrappedLongText, wrapLongText } from './long-text-columns.ts'
import type { Statement } from './statement.ts'

/**
 * The operations of a unit of work. It is valid only while the unit runs, and the unit is synchronous. Whole rows are verified: damaged rows are not
 * returned.
 */
export interface Tx {
  /** Skips damaged rows; throws for tables whose rows make sense only together. */
  all<P, R>(statement: Statement<P, R>, params: P): R[]
  /** As `all`, up to the row for which `isEnough` is true. */
  upTo<P, R>(statement: Statement<P, R>, params: P, isEnough: (row: R) => boolean): R[]
  get<P, R>(statement: Statement<P, R>, params: P): R | undefined
  /** Whether a row of an unverified statement is undamaged. Damage is recorded. */
  isSound(table: TableName, row: object): boolean
  /** Returns the number of rows changed. */
  run<P, R>(statement: Statement<P, R>, params: P): number
  /** Runs a query that is built anew each time, because its shape depends on the request. */
  select<R>(query: Compilable<R>): R[]
  /** While the value is the same, nothing was written. Null in a transaction, which may be undone. */
  readonly write_version: number | null
}

/** A unit of work: synchronous and repeatable, because it runs again alone when another unit of its transaction fails. */
export type UnitOfWork<T> = (tx: Tx) => T

/** Tables whose rows belong together, such as the events of a job: without one row, the others are misleading. */
const INSEPARABLE_TABLES: ReadonlySet<TableName> = new Set([
  'job_event',
  'job_journal',
  'job_trimmed',
  'message',
  'draft',
  'vector_entry',
])

/** Receives what statements find out about damage. */
export interface DamageListener {
  /** Receives each damaged row that a list skips. */
  rowSkipped(row: DamagedRowError): void
  /** Throws if a row that was not found may exist with a damaged key. `key` has values of columns; other members are ignored. */
  rejectIfKeyDamaged(table: TableName, key: object): void
  /** Throws if a statement may miss existing rows. */
  rejectIfIncomplete(sql: string): void
}

/** Any damage is an error. */
export const STRICT_DAMAGE_LISTENER: DamageListener = {
  rowSkipped: (row) => {
    throw row
  },
  rejectIfKeyDamaged: () => {},
  rejectIfIncomplete: () => {},
}

/** The total length of texts and blobs, in characters and bytes; other values are small. */
export function totalLength(values: readonly unknown[]): number {
  let length = 0
  for (const value of values) {
    if (typeof value === 'string') length += value.length
    else if (typeof value === 'object' && value !== null) length += (value as Uint8Array).length
  }
  return length
}

export class TransactionStatements implements Tx {
  readonly #db: SqliteConnection
  readonly #damage: DamageListener
  readonly #prepared = new Map<Statement<never, unknown>, Database.Statement>()
  /** The number of executed statements. */
  count = 0
  /** The number of statements that changed rows. A statement with `returning` returns a row for each. */
  writes = 0
  /** About how many bytes of texts and blobs were passed to writing statements. */
  bytes = 0

  constructor(db: SqliteConnection, damage: DamageListener) {
    this.#db = db
    this.#damage = damage
  }

  get write_version(): number | null {
    return this.#db.inTransaction ? null : this.writes
  }

  all<P, R>(statement: Statement<P, R>, params: P): R[] {
    this.#damage.rejectIfIncomplete(statement.sql)
    const prepared = this.#prepare(statement)
    const values = statement.bind(params)
    if (!prepared.readonly) this.bytes += totalLength(values)
    const rows = prepared.all(...values) as R[]
    if (rows.length > 0 && !prepared.readonly) this.writes++
    return this.#verifiedRows(rows, statement.verified ?? null, statement.long ?? null)
  }

  upTo<P, R>(statement: Statement<P, R>, params: P, isEnough: (row: R) => boolean): R[] {
    this.#damage.rejectIfIncomplete(statement.sql)
    const rows: R[] = []
    for (const row of this.#prepare(statement).iterate(...statement.bind(params)) as Iterable<R>) {
      rows.push(row)
      if (isEnough(row)) break
    }
    return this.#verifiedRows(rows, statement.verified ?? null, statement.long ?? null)
  }

  get<P, R>(statement: Statement<P, R>, params: P): R | undefined {
    const prepared = this.#prepare(statement)
    const values = statement.bind(params)
    if (!prepared.readonly) this.bytes += totalLength(values)
    const row = prepared.get(...values) as R | undefined
    if (row !== undefined && !prepared.readonly) this.writes++
    const long = row === undefined ? null : (statement.long ?? null)
    if (long !== null) wrapLongText(row as Record<string, unknown>, long)
    if (row === undefined || !statement.verified) this.#damage.rejectIfIncomplete(statement.sql)
    else verifyRow(statement.verified, row as Record<string, unknown>)
    if (long !== null) decodeLongText(row as Record<string, unknown>, long)
    if (row === undefined && statement.verified) this.#damage.rejectIfKeyDamaged(statement.verified, params as object)
    return row
  }

  isSound(table: TableName, row: object): boolean {
    if (isChecksumValid(table, withWrappedLongText(table, row as Record<string, unknown>))) return true
    this.#damage.rowSkipped(new DamagedRowError(table, row as Record<string, unknown>))
    return false
  }

  run<P, R>(statement: Statement<P, R>, params: P): number {
    const values = statement.bind(params)
    this.bytes += totalLength(values)
    const { changes } = this.#prepare(statement).run(...values)
    if (changes > 0) this.writes++
    return changes
  }

  select<R>(query: Compilable<R>): R[] {
    this.count++
    const { sql, parameters, query: node } = query.compile()
    this.#damage.rejectIfIncomplete(sql)
    const prepared = this.#db.prepare(sql)
    const rows = prepared.all(...parameters) as R[]
    if (rows.length > 0 && !prepared.readonly) this.writes++
    const table = verifiedTable(node)
    return this.#verifiedRows(rows, table, longTextColumn(table))
  }

  /** The sound rows. `long`: the column that may have been read as bytes. */
  #verifiedRows<R>(rows: R[], verified: TableName | null, long: string | null): R[] {
    if (long !== null) for (const row of rows) wrapLongText(row as Record<string, unknown>, long)
    const sound = verified === null ? rows : this.#soundRows(verified, rows)
    if (long !== null) for (const row of sound) decodeLongText(row as Record<string, unknown>, long)
    return sound
  }

  #soundRows<R>(table: TableName, rows: R[]): R[] {
    const isRowSound = (row: R) => isChecksumValid(table, row as Record<string, unknown>)
    if (rows.every(isRowSound)) return rows
    const damaged = rows.filter((row) => !isRowSound(row))
    for (const row of damaged) {
      const error = new DamagedRowError(table, row as Record<string, unknown>)
      if (INSEPARABLE_TABLES.has(table)) throw error
      this.#damage.rowSkipped(error)
    }
    return rows.filter(isRowSound)
  }

  #prepare(statement: Statement<never, unknown>): Database.Statement {
    this.count++
    let prepared = this.#prepared.get(statement)
    if (!prepared) {
      prepared = this.#db.prepare(statement.sql)
      this.#prepared.set(statement, prepared)
    }
    return prepared
  }
}
