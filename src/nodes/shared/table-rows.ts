// Tables as nodes see them: lists of rows, which are objects by column. Absent and null cells are missing.

import { suggestName } from '../../engine/node-api/did-you-mean.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import { getValueKind } from '../../engine/node-api/values/type-conformance.ts'
import { setOwnProperty } from '../../shared/own-property.ts'
import { runToCompletion, type Steps } from '../../shared/time-slices.ts'
import { guardKeyLength } from './equality-keys.ts'
import { requiredProperty } from './node-type-builders.ts'
import { abbreviate, createStepBudget, guardListLength } from './value-limits.ts'

export type TableRow = Record<string, unknown>

/** In cells where rows or columns multiply: so many fit into memory a few times. */
export const MOST_TABLE_CELLS = 5_000_000

/** In cells that are used as keys or aggregated. Each costs more: so many take about a second. */
export const MOST_KEYED_CELLS = 3_000_000

export const rowsProperty = (name = 'rows', what = 'The rows.') => requiredProperty(name, 'list[dict[str,any]]', what)

/** Throws NodeError unless every row is an object. */
export function validateRows(rows: readonly unknown[]): TableRow[] {
  const wrong = rows.findIndex((row) => typeof row !== 'object' || row === null || Array.isArray(row))
  if (wrong < 0) return rows as TableRow[]
  const text = `Row ${wrong + 1} is ${getValueKind(rows[wrong])}. Each row must be an object with a key for each column.`
  throw new NodeError(text, 'bad_input')
}

export function readCell(row: TableRow, column: string): unknown {
  return Object.hasOwn(row, column) ? (row[column] ?? null) : null
}

/** A row of these columns. Rows with the same columns in the same order take little memory. */
export function createRow(columns: readonly string[], cellOf: (at: number) => unknown): TableRow {
  const row: TableRow = {}
  for (let at = 0; at < columns.length; at++) setOwnProperty(row, columns[at]!, cellOf(at) ?? null)
  return row
}

/** All columns of some rows, in order of first appearance. */
export function listColumns(rows: readonly TableRow[]): string[] {
  return runToCompletion(listColumnsInSteps(rows))
}

/** Rows and keys that are read per step. */
const ITEMS_PER_STEP = 4_096

/** Like `listColumns`, for the main thread: each row may have very many columns of its own. */
export function* listColumnsInSteps(rows: readonly TableRow[]): Steps<string[]> {
  return [...(yield* collectColumns(rows))]
}

function* collectColumns(rows: readonly TableRow[]): Steps<Set<string>> {
  const columns = new Set<string>()
  const spend = createStepBudget()
  let looked = 0
  for (const row of rows) {
    const keys = Object.keys(row)
    spend(keys.length)
    if (++looked % ITEMS_PER_STEP === 0) yield
    for (const key of keys) {
      columns.add(key)
      if (++looked % ITEMS_PER_STEP === 0) yield
    }
    guardListLength(columns.size, 'The table would have', 'columns')
  }
  return columns
}

/** Throws NodeError `unknown_column` if no row has a wanted column. A table without rows has every column. */
export function guardColumns(rows: readonly TableRow[], wanted: Iterable<string>): void {
  runToCompletion(guardColumnsInSteps(rows, wanted))
}

/** Like `guardColumns`, for the main thread. */
export function* guardColumnsInSteps(rows: readonly TableRow[], wanted: Iterable<string>): Steps<void> {
  const [first] = rows
  if (first === undefined) return
  let all: Set<string> | null = null
  let looked = 0
  for (const column of wanted) {
    if (++looked % ITEMS_PER_STEP === 0) yield
    if (Object.hasOwn(first, column)) continue
    all ??= yield* collectColumns(rows)
    if (all.has(column)) continue
    const text = `No row has a column "${abbreviate(column)}".${suggestName(abbreviate(column), all)}`
    throw new NodeError(text, 'unknown_column')
  }
}

/** Throws NodeError if a table would have too many cells. */
export function guardCells(rows: number, columns: number): void {
  guardListLength(rows, 'The table would have', 'rows')
  guardListLength(columns, 'The table would have', 'columns')
  if (rows * columns <= MOST_TABLE_CELLS) return
  const most = MOST_TABLE_CELLS.toLocaleString('en')
  throw new NodeError(`The table would have more than ${most} cells. Use fewer rows or columns.`, 'too_large')
}

/** Throws NodeError if two columns would have the same name, or if a name is too long. */
export function guardColumnNames(names: readonly string[]): void {
  runToCompletion(guardColumnNamesInSteps(names))
}

/** Like `guardColumnNames`, for the main thread. */
export function* guardColumnNamesInSteps(names: readonly string[]): Steps<void> {
  const seen = new Set<string>()
  for (const name of names) {
    guardKeyLength(name)
    if (seen.has(name))
      throw new NodeError(`Two columns would have the name "${abbreviate(name)}".`, 'duplicate_column')
    seen.add(name)
    if (seen.size % ITEMS_PER_STEP === 0) yield
  }
}
