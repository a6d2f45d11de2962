// What units of work are given: statements that are prepared once per connection, and counted.
import type Database from 'better-sqlite3'
import type { Compilable } from 'kysely'
import { isSound, type Table, verifyRow } from './checksum.ts'
import { verifiedTable } from './checksum-plugin.ts'
import type { Connection } from './connection.ts'
import { DamagedRow } from './damaged-row.ts'
import { decodeLong, longTextOf, marked, markLong } from './long-texts.ts'
import type { Statement } from './statement.ts'

/**
 * What a unit of work may do. It is valid only while the unit runs, and the unit is synchronous. Whole rows are verified: none that
 * is damaged is given.
 */
export interface Tx {
  /** Leaves damaged rows out, except of tables whose rows make sense only together: then it throws. */
  all<P, R>(statement: Statement<P, R>, params: P): R[]
  /** As `all`, up to the row with which there is enough. */
  upTo<P, R>(statement: Statement<P, R>, params: P, isEnough: (row: R) => boolean): R[]
  get<P, R>(statement: Statement<P, R>, params: P): R | undefined
  /** Whether a row of an unverified statement is what was written. Damage is taken note of. */
  isSound(table: Table, row: object): boolean
  /** Returns the number of rows changed. */
  run<P, R>(statement: Statement<P, R>, params: P): number
  /** Runs a query that is built anew each time, because its shape depends on the request. */
  select<R>(query: Compilable<R>): R[]
  /** As long as it is the same, nothing was written. Null in a transaction, which may be undone. */
  readonly state: number | null
}

/** A unit of work: synchronous and repeatable, because it runs again alone when a neighbour in its transaction fails. */
export type Unit<T> = (tx: Tx) => T

/** Rows that belong together, as the events of a job do: without one of them, the others tell something else. */
const TOGETHER: ReadonlySet<Table> = new Set([
  'job_event',
  'job_journal',
  'job_trimmed',
  'message',
  'draft',
  'vector_entry',
])

/** What statements tell of damage. */
export interface DamageEars {
  /** Hears of each damaged row that is left out of a list. */
  leftOut(row: DamagedRow): void
  /** Throws where a row that was not found may be there, with a damaged key. `key` has values of columns; what is no column does not count. */
  mayBeDamaged(table: Table, key: object): void
  /** Throws where a statement may miss rows that are there. */
  mayMiss(sql: string): void
}

/** Any damage is an error. */
export const STRICT: DamageEars = {
  leftOut: (row) => {
    throw row
  },
  mayBeDamaged: () => {},
  mayMiss: () => {},
}

/** How long texts and blobs are together, in characters and bytes: other values are small. */
export function lengthOf(values: readonly unknown[]): number {
  let length = 0
  for (const value of values) {
    if (typeof value === 'string') length += value.length
    else if (typeof value === 'object' && value !== null) length += (value as Uint8Array).length
  }
  return length
}

export class Statements implements Tx {
  readonly #db: Connection
  readonly #damage: DamageEars
  readonly #prepared = new Map<Statement<never, unknown>, Database.Statement>()
  /** How many were executed. */
  count = 0
  /** How many of them changed rows. What `returning` gives is a row for each. */
  writes = 0
  /** About how many bytes of texts and blobs were given to statements that write. */
  bytes = 0

  constructor(db: Connection, damage: DamageEars) {
    this.#db = db
    this.#damage = damage
  }

  get state(): number | null {
    return this.#db.inTransaction ? null : this.writes
  }

  all<P, R>(statement: Statement<P, R>, params: P): R[] {
    this.#damage.mayMiss(statement.sql)
    const prepared = this.#prepare(statement)
    const values = statement.bind(params)
    if (!prepared.readonly) this.bytes += lengthOf(values)
    const rows = prepared.all(...values) as R[]
    if (rows.length > 0 && !prepared.readonly) this.writes++
    return this.#whole(rows, statement.verified ?? null, statement.long ?? null)
  }

  upTo<P, R>(statement: Statement<P, R>, params: P, isEnough: (row: R) => boolean): R[] {
    this.#damage.mayMiss(statement.sql)
    const rows: R[] = []
    for (const row of this.#prepare(statement).iterate(...statement.bind(params)) as Iterable<R>) {
      rows.push(row)
      if (isEnough(row)) break
    }
    return this.#whole(rows, statement.verified ?? null, statement.long ?? null)
  }

  get<P, R>(statement: Statement<P, R>, params: P): R | undefined {
    const prepared = this.#prepare(statement)
    const values = statement.bind(params)
    if (!prepared.readonly) this.bytes += lengthOf(values)
    const row = prepared.get(...values) as R | undefined
    if (row !== undefined && !prepared.readonly) this.writes++
    const long = row === undefined ? null : (statement.long ?? null)
    if (long !== null) markLong(row as Record<string, unknown>, long)
    if (row === undefined || !statement.verified) this.#damage.mayMiss(statement.sql)
    else verifyRow(statement.verified, row as Record<string, unknown>)
    if (long !== null) decodeLong(row as Record<string, unknown>, long)
    if (row === undefined && statement.verified) this.#damage.mayBeDamaged(statement.verified, params as object)
    return row
  }

  isSound(table: Table, row: object): boolean {
    if (isSound(table, marked(table, row as Record<string, unknown>))) return true
    this.#damage.leftOut(new DamagedRow(table, row as Record<string, unknown>))
    return false
  }

  run<P, R>(statement: Statement<P, R>, params: P): number {
    const values = statement.bind(params)
    this.bytes += lengthOf(values)
    const { changes } = this.#prepare(statement).run(...values)
    if (changes > 0) this.writes++
    return changes
  }

  select<R>(query: Compilable<R>): R[] {
    this.count++
    const { sql, parameters, query: node } = query.compile()
    this.#damage.mayMiss(sql)
    const prepared = this.#db.prepare(sql)
    const rows = prepared.all(...parameters) as R[]
    if (rows.length > 0 && !prepared.readonly) this.writes++
    const table = verifiedTable(node)
    return this.#whole(rows, table, longTextOf(table))
  }

  /** The rows that are sound. `long`: the column that may have come as bytes. */
  #whole<R>(rows: R[], verified: Table | null, long: string | null): R[] {
    if (long !== null) for (const row of rows) markLong(row as Record<string, unknown>, long)
    const sound = verified === null ? rows : this.#sound(verified, rows)
    if (long !== null) for (const row of sound) decodeLong(row as Record<string, unknown>, long)
    return sound
  }

  #sound<R>(table: Table, rows: R[]): R[] {
    const isRowSound = (row: R) => isSound(table, row as Record<string, unknown>)
    if (rows.every(isRowSound)) return rows
    const damaged = rows.filter((row) => !isRowSound(row))
    for (const row of damaged) {
      const error = new DamagedRow(table, row as Record<string, unknown>)
      if (TOGETHER.has(table)) throw error
      this.#damage.leftOut(error)
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
