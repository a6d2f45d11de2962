// Runs SQL on the given tables with SQLite in memory. The statement is untrusted: it reads these tables and nothing else on the machine.
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
  /** Tables by name. */
  readonly tables: readonly (readonly [string, readonly TableRow[]])[]
  /** Columns that a table has even without values, by the table's name. */
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
  // Otherwise sorting would write to the folder for temporary files.
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
  // SQLite requires a column, and a table without rows may have none.
  const list = (columns.length > 0 ? columns : ['_']).map(quoteName).join(', ')
  mapSqlErrors(() => db.exec(`CREATE TABLE ${quoteName(name)} (${list})`), `The table ${name} cannot be created`)
  if (columns.length === 0 && rows.length === 0) return
  const places = Array.from({ length: Math.max(1, columns.length) }, () => '?').join(', ')
  const insert = db.prepare(`INSERT INTO ${quoteName(name)} VALUES (${places})`)
  const all = db.transaction(() => {
    for (const row of rows)
      insert.run(columns.length > 0 ? columns.map((column) => toSqlValue(cellOf(row, column))) : [null])
  })
  mapSqlErrors(all, `The table ${name} cannot be created`)
}

/** Converts a value for SQLite. Integers become bigints, since numbers would be stored as floats. */
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
    throw new MediaFault('bad_input', 'The statement does more than read: only SELECT, WITH and VALUES are allowed.')
  guardPragmas(db)
  const names = statement.columns().map(({ name }) => name)
  bindParams(statement, sql, params)
  const cells: unknown[][] = []
  const remaining = { rows: most, cells: MOST_TASK_CELLS, text: MOST_TASK_TEXT }
  for (const row of statement.raw().safeIntegers().iterate()) cells.push(readRow(row as unknown[], remaining))
  return { columns: uniqueNames(names), cells }
}

/**
 * A PRAGMA that is used as a table becomes a module of the connection when the statement is prepared, before it runs. A search in the text would not be
 * safe, since the name can be written in too many ways.
 */
function guardPragmas(db: DatabaseHandle): void {
  const modules = db.pragma('module_list') as { name: string }[]
  if (modules.some(({ name }) => name.toLowerCase().startsWith('pragma_')))
    throw new MediaFault('bad_input', 'The statement uses a PRAGMA, which is not available.')
}

/** Values for ? and for ?1, ?2 come as a list; the library takes the latter as named parameters. */
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

function readRow(row: unknown[], remaining: { rows: number; cells: number; text: number }): unknown[] {
  remaining.rows--
  remaining.cells -= row.length
  for (const cell of row) if (typeof cell === 'string' || cell instanceof Uint8Array) remaining.text -= cell.length
  if (remaining.rows < 0 || remaining.cells < 0 || remaining.text < 0)
    throw new MediaFault(
      'too_large',
      'The query gives more rows, cells or text than the limit. Add a LIMIT, or a WHERE.',
    )
  return row.map(fromSqlValue)
}

/** Converts a value for workflows: an integer beyond the exact range becomes a text of its digits, and a non-finite number becomes null. */
function fromSqlValue(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (value instanceof Uint8Array) return new Uint8Array(value)
  if (typeof value !== 'bigint') return value
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

/** Makes the names of columns unique. */
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

/** Passes on SQLite's own messages, which are safe: SQLite knows only the statement and its tables. */
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
