// How much is removed at once where there may be much: as many rows as there is time for.
import type { TableName } from './integrity/row-checksum.ts'
import type { Statement } from './statement.ts'
import { type Tx, totalLength } from './transaction.ts'

/** Whether there is time for more. */
export type TimeBudget = () => boolean

/** Time for `ms` milliseconds from now on. */
export function startTimeBudget(ms: number): TimeBudget {
  const deadline = performance.now() + ms
  return () => performance.now() < deadline
}

/** How much of rows is read at once, in characters and bytes of their values; one row at least. */
const READ_AT_ONCE = 1_000_000

/**
 * The first rows that a statement gives, at most `limit` of those that are sound and wanted, and fewer where they are large: at least one, unless there is none.
 * The statement has no limit of its own: rows that are damaged or not wanted stay, and do not keep those behind them.
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
 * Whether a statement gives as many rows as its limit, or rows of more bytes than `most_bytes`. No more are looked at than tell it: each look reads the row whole,
 * whatever is asked of it.
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
 * Rows of one owner that are removed one by one, in the order of their numbers. One of them may have megabytes, and each look at it reads all of them:
 * only to remove it by its whole key takes no more than that.
 */
export interface NumberedRowStatements {
  readonly first: Statement<{ key: number }, { number: number | null }>
  readonly deleteRow: Statement<{ key: number; number: number }, unknown>
}

/** Removes rows of an owner from the first on, at least one, and as many as there is time for; true when none is left. */
export function deleteNumberedRows(tx: Tx, rows: NumberedRowStatements, key: number, more: TimeBudget): boolean {
  let number = findFirstNumber(tx, rows, key)
  for (let isDue = true; number !== null; isDue = more()) {
    if (!isDue) return false
    // The next one is known: they follow each other without a gap.
    const isGone = tx.run(rows.deleteRow, { key, number }) === 1
    number = isGone ? number + 1 : findFirstNumber(tx, rows, key)
  }
  return true
}

/** The number of the first row that is still stored; null where none is. */
export function findFirstNumber(tx: Tx, { first }: NumberedRowStatements, key: number): number | null {
  return tx.get(first, { key })?.number ?? null
}
