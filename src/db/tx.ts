// What units of work are given: statements that are prepared once per connection, and counted.
import type Database from 'better-sqlite3'
import type { Compilable } from 'kysely'
import type { Connection } from './connection.ts'
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

export class Statements implements Tx {
  readonly #db: Connection
  readonly #prepared = new Map<Statement<never, unknown>, Database.Statement>()
  /** How many were executed. */
  count = 0

  constructor(db: Connection) {
    this.#db = db
  }

  all<P, R>(statement: Statement<P, R>, params: P): R[] {
    return this.#prepare(statement).all(...statement.bind(params)) as R[]
  }

  get<P, R>(statement: Statement<P, R>, params: P): R | undefined {
    return this.#prepare(statement).get(...statement.bind(params)) as R | undefined
  }

  run<P, R>(statement: Statement<P, R>, params: P): number {
    return this.#prepare(statement).run(...statement.bind(params)).changes
  }

  select<R>(query: Compilable<R>): R[] {
    this.count++
    const { sql, parameters } = query.compile()
    return this.#db.prepare(sql).all(...parameters) as R[]
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
