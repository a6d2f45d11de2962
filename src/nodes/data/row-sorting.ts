// Sorts rows by columns.
import { NodeError } from '../../engine/node-api/node-error.ts'
import { getValueKind } from '../../engine/node-api/values/type-conformance.ts'
import { rankValues, sortByRanks } from '../shared/ranking.ts'
import { guardColumns, readCell, type TableRow } from '../shared/table-rows.ts'
import { abbreviate, createStepBudget } from '../shared/value-limits.ts'

interface SortOrder {
  column: string
  sign: number
}

/** `-price` sorts by price in descending order. `+` is for column names that begin with a sign. */
function parseSortOrder(by: string): SortOrder {
  if (by.startsWith('-')) return { column: by.slice(1), sign: -1 }
  return { column: by.startsWith('+') ? by.slice(1) : by, sign: 1 }
}

/** Throws NodeError unless a column holds only numbers, only texts, or only booleans. */
function guardOrder(cells: readonly unknown[], column: string): void {
  const first = cells.find((value) => value !== null)
  const index = cells.findIndex(
    (value) => value !== null && (typeof value !== typeof first || typeof value === 'object'),
  )
  if (index < 0) return
  const other = cells[index] === first ? '' : `, and ${getValueKind(first)} in others`
  const text = `Column "${abbreviate(column)}" can't be ordered: it is ${getValueKind(cells[index])} in row ${index + 1}${other}.`
  throw new NodeError(text, 'no_order')
}

/** The rows in order. Equal rows keep their order. Throws NodeError if a column has values of several kinds. */
export function sortRows(rows: readonly TableRow[], by: readonly string[]): TableRow[] {
  const orders = by.map(parseSortOrder)
  const named = orders.map(({ column }) => column)
  guardColumns(rows, named)
  createStepBudget()(rows.length * by.length)
  const columns = orders.map(({ column, sign }) => {
    const cells = rows.map((row) => readCell(row, column))
    guardOrder(cells, column)
    return rankValues(cells, sign)
  })
  return Array.from(sortByRanks(rows.length, columns), (place) => rows[place]!)
}
