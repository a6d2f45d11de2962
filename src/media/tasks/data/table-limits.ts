// How large tables may be, and what they are made of on their way between a node and its task.

/** A table as it travels: cells in the order of the columns, so that a column may have any name. */
export interface CellTable {
  readonly columns: readonly string[]
  readonly cells: readonly (readonly unknown[])[]
}

export type TableRow = Readonly<Record<string, unknown>>

export const MOST_TASK_ROWS = 1_000_000
export const MOST_TASK_COLUMNS = 2_000
/** So many fit into the memory of a process a few times. */
export const MOST_TASK_CELLS = 2_000_000
/** In characters, of all texts of one table. */
export const MOST_TASK_TEXT = 50_000_000
/** Of cells and what they hold, down to the last value. */
export const MOST_TASK_VALUES = 5_000_000
/** Levels of lists and objects inside of a cell. */
export const DEEPEST_CELL = 32

export function formatCount(count: number): string {
  return count.toLocaleString('en')
}

/** What a row has of its own in a column, or null. */
export function cellOf(row: TableRow, column: string): unknown {
  return Object.hasOwn(row, column) ? (row[column] ?? null) : null
}
