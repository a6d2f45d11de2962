// Rows in the order of some of their columns.
import { NodeError } from '../engine/node-type.ts'
import { kindOf } from '../engine/values.ts'
import { budget, shown } from './limits.ts'
import { inOrder, ranksOf } from './ranks.ts'
import { cell, guardColumns, type Row } from './rows.ts'

interface Order {
  column: string
  sign: number
}

/** `-price` is price, the greatest first; `+` says that a name begins after it. */
function order(by: string): Order {
  if (by.startsWith('-')) return { column: by.slice(1), sign: -1 }
  return { column: by.startsWith('+') ? by.slice(1) : by, sign: 1 }
}

/** Throws NodeError where a column has no order: where not all of it is numbers, texts, or yes and no. */
function guardOrder(cells: readonly unknown[], column: string): void {
  const first = cells.find((value) => value !== null)
  const index = cells.findIndex(
    (value) => value !== null && (typeof value !== typeof first || typeof value === 'object'),
  )
  if (index < 0) return
  const other = cells[index] === first ? '' : `, and ${kindOf(first)} in others`
  const text = `Column "${shown(column)}" can't be ordered: it is ${kindOf(cells[index])} in row ${index + 1}${other}.`
  throw new NodeError(text, 'no_order')
}

/** The rows in order; equal ones keep theirs. Throws NodeError where a column has values of several kinds. */
export function sortRows(rows: readonly Row[], by: readonly string[]): Row[] {
  const orders = by.map(order)
  const named = orders.map(({ column }) => column)
  guardColumns(rows, named)
  budget()(rows.length * by.length)
  const columns = orders.map(({ column, sign }) => {
    const cells = rows.map((row) => cell(row, column))
    guardOrder(cells, column)
    return ranksOf(cells, sign)
  })
  return Array.from(inOrder(rows.length, columns), (place) => rows[place]!)
}
