// SQL over tables that are given, by SQLite in memory. The statement is somebody's: it reads these tables, and nothing else of the machine.
import Database from 'better-sqlite3'
import { MediaFault } from '../fault.ts'
import type { Made } from '../serving.ts'
import {
  cellOf,
  MOST_CELLS,
  MOST_COLUMNS,
  MOST_ROWS,
  MOST_TEXT,
  type Row,
  readable,
  type Table,
} from './data-limits.ts'
import { withoutMachine } from './data-query-functions.ts'
import { guardSql } from './data-sql.ts'

export interface Query {
  readonly sql: string
  /** By name. */
  readonly tables: readonly (readonly [string, readonly Row[]])[]
  /** What a table has in any case. */
  readonly columns: Readonly<Record<string, readonly string[]>>
  readonly params: readonly unknown[] | Readonly<Record<string, unknown>>
  readonly most_rows: number
}

type Handle = InstanceType<typeof Database>

/** @throws MediaFault `bad_input` for what is wrong with the statement or the tables, `too_large` */
export function queried({ sql, tables, columns, params, most_rows }: Query): Made {
  guardSql(sql)
  using open = opened()
  const { db } = open
  for (const [name, rows] of tables) load(db, name, rows, Object.hasOwn(columns, name) ? columns[name]! : [])
  withoutMachine(db, open.clock)
  return { value: said(() => answered(db, sql, params, Math.min(most_rows, MOST_ROWS))) }
}

function opened() {
  const db = new Database(':memory:')
  const clock = new Database(':memory:')
  // What it sorts stays in memory as well: else it would be written to the folder for temporary files.
  for (const one of [db, clock]) one.pragma('temp_store = memory')
  return {
    db,
    clock,
    [Symbol.dispose]() {
      db.close()
      clock.close()
    },
  }
}

function quoted(name: string): string {
  if (name === '' || name.includes('\0')) throw new MediaFault('bad_input', 'A table or a column has no usable name.')
  return `"${name.replaceAll('"', '""')}"`
}

function columnsOf(name: string, rows: readonly Row[], first: readonly string[]): string[] {
  const columns = new Set(first)
  for (const row of rows) {
    for (const key of Object.keys(row)) columns.add(key)
    if (columns.size > MOST_COLUMNS)
      throw new MediaFault('too_large', `The table ${name} has more than ${readable(MOST_COLUMNS)} columns.`)
  }
  if (rows.length * columns.size > MOST_CELLS)
    throw new MediaFault('too_large', `The table ${name} has more than ${readable(MOST_CELLS)} cells.`)
  return [...columns]
}

function load(db: Handle, name: string, rows: readonly Row[], first: readonly string[]): void {
  const columns = columnsOf(name, rows, first)
  // A table needs a column, and without rows nobody knows of one.
  const list = (columns.length > 0 ? columns : ['_']).map(quoted).join(', ')
  said(() => db.exec(`CREATE TABLE ${quoted(name)} (${list})`), `The table ${name} cannot be made`)
  if (columns.length === 0 && rows.length === 0) return
  const places = Array.from({ length: Math.max(1, columns.length) }, () => '?').join(', ')
  const insert = db.prepare(`INSERT INTO ${quoted(name)} VALUES (${places})`)
  const all = db.transaction(() => {
    for (const row of rows)
      insert.run(columns.length > 0 ? columns.map((column) => stored(cellOf(row, column))) : [null])
  })
  said(all, `The table ${name} cannot be made`)
}

/** A value as SQLite has it. Whole numbers would be taken for others if they were no bigints. */
function stored(value: unknown): null | string | number | bigint | Uint8Array {
  if (value === null || value === undefined) return null
  if (typeof value === 'boolean') return value ? 1n : 0n
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  if (typeof value === 'string') return value
  return value instanceof Uint8Array ? Buffer.from(value) : JSON.stringify(value)
}

function answered(db: Handle, sql: string, params: Query['params'], most: number): Table {
  const statement = db.prepare(sql)
  if (!statement.reader || !statement.readonly)
    throw new MediaFault('bad_input', 'The statement does more than read: only SELECT, WITH and VALUES are run.')
  guardPragmas(db)
  const names = statement.columns().map(({ name }) => name)
  bind(statement, sql, params)
  const cells: unknown[][] = []
  const limits = { rows: most, cells: MOST_CELLS, text: MOST_TEXT }
  for (const row of statement.raw().safeIntegers().iterate()) cells.push(kept(row as unknown[], limits))
  return { columns: distinct(names), cells }
}

/**
 * A PRAGMA that is asked for as a table becomes a module of the connection when the statement is prepared, before any of it is run. Its name could be
 * written in too many ways to be looked for.
 */
function guardPragmas(db: Handle): void {
  const modules = db.pragma('module_list') as { name: string }[]
  if (modules.some(({ name }) => name.toLowerCase().startsWith('pragma_')))
    throw new MediaFault('bad_input', 'The statement asks for a PRAGMA: those are not offered.')
}

/** Values for ? and for ?1, ?2 are a list; to the library the latter have names. */
function bind(statement: Database.Statement, sql: string, params: Query['params']): void {
  if (!Array.isArray(params)) return void statement.bind(named({ ...params }))
  try {
    statement.bind(params.map(stored))
  } catch (error) {
    if (!/\?\d/.test(sql)) throw error
    statement.bind(named({ ...[null, ...params] }))
  }
}

function named(params: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, stored(value)]))
}

function kept(row: unknown[], left: { rows: number; cells: number; text: number }): unknown[] {
  left.rows--
  left.cells -= row.length
  for (const cell of row) if (typeof cell === 'string' || cell instanceof Uint8Array) left.text -= cell.length
  if (left.rows < 0 || left.cells < 0 || left.text < 0)
    throw new MediaFault('too_large', 'The query gives more rows, cells or text than fit. Add a LIMIT, or a WHERE.')
  return row.map(given)
}

/** A value as workflows have it: what is no exact number stays a text of its digits, and what is no finite one is missing. */
function given(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (value instanceof Uint8Array) return new Uint8Array(value)
  if (typeof value !== 'bigint') return value
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

/** Names of columns, no two the same. */
function distinct(names: readonly string[]): string[] {
  const taken = new Set(names)
  const seen = new Set<string>()
  return names.map((name) => {
    let free = name
    for (let copy = 2; seen.has(free) || (free !== name && taken.has(free)); copy++) free = `${name}_${copy}`
    seen.add(free)
    return free
  })
}

/** What SQLite says of a statement is said of it in its own words: it knows nothing but that and its tables. */
function said<Value>(work: () => Value, what = 'The query fails'): Value {
  try {
    return work()
  } catch (error) {
    if (error instanceof MediaFault) throw error
    const { code, message } = error as Error & { code?: string }
    const large = code === 'SQLITE_TOOBIG' || code === 'SQLITE_NOMEM'
    throw new MediaFault(large ? 'too_large' : 'bad_input', `${what}: ${message}.`, { cause: error })
  }
}
