// Reads and removes many rows in batches: as many as time and size permit.
import type { TableName } from './integrity/row-checksum.ts'
import type { Statement } from './statement.ts'
import { type Tx, totalLength } from './transaction.ts'

/** Whether there is time for more. */
export type TimeBudget = () => boolean

export function startTimeBudget(ms: number): TimeBudget {
  const deadline = performance.now() + ms
  return () => performance.now() < deadline
}

/** The characters and bytes of values that are read at once; at least one row is read. */
const READ_AT_ONCE = 1_000_000

/**
 * The first sound and wanted rows of a statement, at most `limit`. Fewer are returned where they are large, but at least one if there is one. The
 * statement has no limit of its own, so damaged and unwanted rows do not block the rows behind them.
 */
export function readFirstRows<P, R extends object>(
  tx: Tx,
  { table, statement, params }: { table: TableName; statement: Statement<P, R>; params: P },
  limit: number,
  isWanted: (row: R) => boolean = () => true,
): R[] {
  let [found, length] = [0, 0]
  const isEnough = (row: R) => {
    length += totalLength(Object.values(row))
    if (isWanted(row) && tx.isSound(table, row)) found++
    return found === limit || (found > 0 && length >= READ_AT_ONCE)
  }
  return tx.upTo(statement, params, isEnough).filter(isWanted)
}

/**
 * Whether a statement returns as many rows as its limit, or rows of more bytes than `most_bytes`. It reads no more rows than that needs, because
 * SQLite always reads a row whole.
 */
export function isOverRowLimits<P extends { readonly limit: number }>(
  tx: Tx,
  statement: Statement<P, { bytes: number }>,
  params: P,
  most_bytes: number,
): boolean {
  let read = 0
  const rows = tx.upTo(statement, params, ({ bytes }) => {
    read += bytes
    return read > most_bytes
  })
  return rows.length === params.limit || read > most_bytes
}

/**
 * Rows of one owner that are removed one by one, in the order of their numbers. A row may have megabytes, and each read of the row reads all of them;
 * removing it by its whole key does not read them again.
 */
export interface NumberedRowStatements {
  readonly first: Statement<{ key: number }, { number: number | null }>
  readonly deleteRow: Statement<{ key: number; number: number }, unknown>
}

/** Removes an owner's rows from the first on: at least one, and as many as time permits. True when none is left. */
export function deleteNumberedRows(tx: Tx, rows: NumberedRowStatements, key: number, more: TimeBudget): boolean {
  let number = findFirstNumber(tx, rows, key)
  for (let isDue = true; number !== null; isDue = more()) {
    if (!isDue) return false
    // Numbers usually follow each other without a gap.
    const isRemoved = tx.run(rows.deleteRow, { key, number }) === 1
    number = isRemoved ? number + 1 : findFirstNumber(tx, rows, key)
  }
  return true
}

/** The number of the first stored row; null: there is none. */
export function findFirstNumber(tx: Tx, { first }: NumberedRowStatements, key: number): number | null {
  return tx.get(first, { key })?.number ?? null
}
