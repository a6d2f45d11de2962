// The limits of tables, and their form between a node and its task.

/** The form of a table in messages: cells in the order of the columns, so that a column may have any name. */
export interface CellTable {
  readonly columns: readonly string[]
  readonly cells: readonly (readonly unknown[])[]
}

export type TableRow = Readonly<Record<string, unknown>>

export const MOST_TASK_ROWS = 1_000_000
export const MOST_TASK_COLUMNS = 2_000
/** The memory of a process has room for this many a few times. */
export const MOST_TASK_CELLS = 2_000_000
/** In characters, for all texts of one table. */
export const MOST_TASK_TEXT = 50_000_000
/** Cells with all their nested values. */
export const MOST_TASK_VALUES = 5_000_000
/** Levels of lists and objects in a cell. */
export const DEEPEST_CELL = 32

export function formatCount(count: number): string {
  return count.toLocaleString('en')
}

/** A row's own value in a column; null where there is none. */
export function cellOf(row: TableRow, column: string): unknown {
  return Object.hasOwn(row, column) ? (row[column] ?? null) : null
}
