// Tables as nodes see them: lists of rows, which are dicts by column. What is in no row, or null, is missing.
import { NodeError } from '../engine/node-type.ts'
import { hint } from '../engine/suggest.ts'
import { kindOf } from '../engine/values.ts'
import { setMember } from '../members.ts'
import { finish, type Steps } from '../time-slices.ts'
import { required } from './define.ts'
import { guardKey } from './keys.ts'
import { budget, guardList, shown } from './limits.ts'

export type Row = Record<string, unknown>

/** Where rows or columns multiply: so many cells fit into the memory a few times. */
export const MOST_CELLS = 5_000_000

/** Where cells are told apart or summed up, each costs more: so many take a second or so. */
export const MOST_KEYED_CELLS = 3_000_000

export const rowsProperty = (name = 'rows', what = 'The rows.') => required(name, 'list[dict[str,any]]', what)

/** Throws NodeError where a row is none. */
export function readRows(rows: readonly unknown[]): Row[] {
  const wrong = rows.findIndex((row) => typeof row !== 'object' || row === null || Array.isArray(row))
  if (wrong < 0) return rows as Row[]
  const text = `Row ${wrong + 1} is ${kindOf(rows[wrong])}: rows are objects by column.`
  throw new NodeError(text, 'bad_input')
}

export function cell(row: Row, column: string): unknown {
  return Object.hasOwn(row, column) ? (row[column] ?? null) : null
}

/** A row of these columns; the same ones in the same order make rows that take little memory. */
export function rowOf(columns: readonly string[], cellOf: (at: number) => unknown): Row {
  const row: Row = {}
  for (let at = 0; at < columns.length; at++) setMember(row, columns[at]!, cellOf(at) ?? null)
  return row
}

/** All columns of some rows, in order of first sight. */
export function columnsOf(rows: readonly Row[]): string[] {
  return finish(columnSteps(rows))
}

/** So many rows and keys are looked at in one step. */
const LOOKED_AT = 4_096

/** As `columnsOf`, for the main thread: each row may have very many columns of its own. */
export function* columnSteps(rows: readonly Row[]): Steps<string[]> {
  return [...(yield* differentColumns(rows))]
}

function* differentColumns(rows: readonly Row[]): Steps<Set<string>> {
  const columns = new Set<string>()
  const spend = budget()
  let looked = 0
  for (const row of rows) {
    const keys = Object.keys(row)
    spend(keys.length)
    if (++looked % LOOKED_AT === 0) yield
    for (const key of keys) {
      columns.add(key)
      if (++looked % LOOKED_AT === 0) yield
    }
    guardList(columns.size, 'The table would have', 'columns')
  }
  return columns
}

/** Throws NodeError `unknown_column` where no row has a column that is asked for. A table without rows has any. */
export function guardColumns(rows: readonly Row[], wanted: Iterable<string>): void {
  finish(guardColumnSteps(rows, wanted))
}

/** As `guardColumns`, for the main thread. */
export function* guardColumnSteps(rows: readonly Row[], wanted: Iterable<string>): Steps<void> {
  const [first] = rows
  if (first === undefined) return
  let all: Set<string> | null = null
  let looked = 0
  for (const column of wanted) {
    if (++looked % LOOKED_AT === 0) yield
    if (Object.hasOwn(first, column)) continue
    all ??= yield* differentColumns(rows)
    if (all.has(column)) continue
    const text = `No row has a column "${shown(column)}".${hint(shown(column), all)}`
    throw new NodeError(text, 'unknown_column')
  }
}

/** Throws NodeError where a table would have too many cells. */
export function guardCells(rows: number, columns: number): void {
  guardList(rows, 'The table would have', 'rows')
  guardList(columns, 'The table would have', 'columns')
  if (rows * columns <= MOST_CELLS) return
  const most = MOST_CELLS.toLocaleString('en')
  throw new NodeError(`The table would have more than ${most} cells. Take fewer rows or columns.`, 'too_large')
}

/** Throws NodeError where two columns of a table would have the same name, or one has an endless one. */
export function guardNames(names: readonly string[]): void {
  finish(guardNameSteps(names))
}

/** As `guardNames`, for the main thread. */
export function* guardNameSteps(names: readonly string[]): Steps<void> {
  const seen = new Set<string>()
  for (const name of names) {
    guardKey(name)
    if (seen.has(name)) throw new NodeError(`Two columns would be called "${shown(name)}".`, 'duplicate_column')
    seen.add(name)
    if (seen.size % LOOKED_AT === 0) yield
  }
}
