// SQL over tables that are given, by SQLite in memory. The statement is somebody's: it reads these tables, and nothing else of the machine.
import Database from 'better-sqlite3'
import { MediaFault } from '../../fault.ts'
import type { MediaTaskResult } from '../../task-runner.ts'
import { restrictFunctions } from './sql-function-restrictions.ts'
import { guardSqlStatement } from './sql-validation.ts'
import {
  type CellTable,
  cellOf,
  formatCount,
  MOST_TASK_CELLS,
  MOST_TASK_COLUMNS,
  MOST_TASK_ROWS,
  MOST_TASK_TEXT,
  type TableRow,
} from './table-limits.ts'

export interface SqlQueryParams {
  readonly sql: string
  /** By name. */
  readonly tables: readonly (readonly [string, readonly TableRow[]])[]
  /** What a table has in any case. */
  readonly columns: Readonly<Record<string, readonly string[]>>
  readonly params: readonly unknown[] | Readonly<Record<string, unknown>>
  readonly most_rows: number
}

type DatabaseHandle = InstanceType<typeof Database>

/** @throws MediaFault `bad_input` for what is wrong with the statement or the tables, `too_large` */
export function runQuery({ sql, tables, columns, params, most_rows }: SqlQueryParams): MediaTaskResult {
  guardSqlStatement(sql)
  using open = openDatabases()
  const { db } = open
  for (const [name, rows] of tables) loadTable(db, name, rows, Object.hasOwn(columns, name) ? columns[name]! : [])
  restrictFunctions(db, open.clock)
  return { value: mapSqlErrors(() => executeQuery(db, sql, params, Math.min(most_rows, MOST_TASK_ROWS))) }
}

function openDatabases() {
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

function quoteName(name: string): string {
  if (name === '' || name.includes('\0')) throw new MediaFault('bad_input', 'A table or a column has no usable name.')
  return `"${name.replaceAll('"', '""')}"`
}

function listColumns(name: string, rows: readonly TableRow[], first: readonly string[]): string[] {
  const columns = new Set(first)
  for (const row of rows) {
    for (const key of Object.keys(row)) columns.add(key)
    if (columns.size > MOST_TASK_COLUMNS)
      throw new MediaFault('too_large', `The table ${name} has more than ${formatCount(MOST_TASK_COLUMNS)} columns.`)
  }
  if (rows.length * columns.size > MOST_TASK_CELLS)
    throw new MediaFault('too_large', `The table ${name} has more than ${formatCount(MOST_TASK_CELLS)} cells.`)
  return [...columns]
}

function loadTable(db: DatabaseHandle, name: string, rows: readonly TableRow[], first: readonly string[]): void {
  const columns = listColumns(name, rows, first)
  // A table needs a column, and without rows nobody knows of one.
  const list = (columns.length > 0 ? columns : ['_']).map(quoteName).join(', ')
  mapSqlErrors(() => db.exec(`CREATE TABLE ${quoteName(name)} (${list})`), `The table ${name} cannot be made`)
  if (columns.length === 0 && rows.length === 0) return
  const places = Array.from({ length: Math.max(1, columns.length) }, () => '?').join(', ')
  const insert = db.prepare(`INSERT INTO ${quoteName(name)} VALUES (${places})`)
  const all = db.transaction(() => {
    for (const row of rows)
      insert.run(columns.length > 0 ? columns.map((column) => toSqlValue(cellOf(row, column))) : [null])
  })
  mapSqlErrors(all, `The table ${name} cannot be made`)
}

/** A value as SQLite has it. Whole numbers would be taken for others if they were no bigints. */
function toSqlValue(value: unknown): null | string | number | bigint | Uint8Array {
  if (value === null || value === undefined) return null
  if (typeof value === 'boolean') return value ? 1n : 0n
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  if (typeof value === 'string') return value
  return value instanceof Uint8Array ? Buffer.from(value) : JSON.stringify(value)
}

function executeQuery(db: DatabaseHandle, sql: string, params: SqlQueryParams['params'], most: number): CellTable {
  const statement = db.prepare(sql)
  if (!statement.reader || !statement.readonly)
    throw new MediaFault('bad_input', 'The statement does more than read: only SELECT, WITH and VALUES are run.')
  guardPragmas(db)
  const names = statement.columns().map(({ name }) => name)
  bindParams(statement, sql, params)
  const cells: unknown[][] = []
  const limits = { rows: most, cells: MOST_TASK_CELLS, text: MOST_TASK_TEXT }
  for (const row of statement.raw().safeIntegers().iterate()) cells.push(readRow(row as unknown[], limits))
  return { columns: uniqueNames(names), cells }
}

/**
 * A PRAGMA that is asked for as a table becomes a module of the connection when the statement is prepared, before any of it is run. Its name could be
 * written in too many ways to be looked for.
 */
function guardPragmas(db: DatabaseHandle): void {
  const modules = db.pragma('module_list') as { name: string }[]
  if (modules.some(({ name }) => name.toLowerCase().startsWith('pragma_')))
    throw new MediaFault('bad_input', 'The statement asks for a PRAGMA: those are not offered.')
}

/** Values for ? and for ?1, ?2 are a list; to the library the latter have names. */
function bindParams(statement: Database.Statement, sql: string, params: SqlQueryParams['params']): void {
  if (!Array.isArray(params)) return void statement.bind(toNamedParams({ ...params }))
  try {
    statement.bind(params.map(toSqlValue))
  } catch (error) {
    if (!/\?\d/.test(sql)) throw error
    statement.bind(toNamedParams({ ...[null, ...params] }))
  }
}

function toNamedParams(params: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, toSqlValue(value)]))
}

function readRow(row: unknown[], left: { rows: number; cells: number; text: number }): unknown[] {
  left.rows--
  left.cells -= row.length
  for (const cell of row) if (typeof cell === 'string' || cell instanceof Uint8Array) left.text -= cell.length
  if (left.rows < 0 || left.cells < 0 || left.text < 0)
    throw new MediaFault('too_large', 'The query gives more rows, cells or text than fit. Add a LIMIT, or a WHERE.')
  return row.map(fromSqlValue)
}

/** A value as workflows have it: what is no exact number stays a text of its digits, and what is no finite one is missing. */
function fromSqlValue(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (value instanceof Uint8Array) return new Uint8Array(value)
  if (typeof value !== 'bigint') return value
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

/** Names of columns, no two the same. */
function uniqueNames(names: readonly string[]): string[] {
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
function mapSqlErrors<Value>(work: () => Value, what = 'The query fails'): Value {
  try {
    return work()
  } catch (error) {
    if (error instanceof MediaFault) throw error
    const { code, message } = error as Error & { code?: string }
    const large = code === 'SQLITE_TOOBIG' || code === 'SQLITE_NOMEM'
    throw new MediaFault(large ? 'too_large' : 'bad_input', `${what}: ${message}.`, { cause: error })
  }
}
