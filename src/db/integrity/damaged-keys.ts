// Tells a row that does not exist from a damaged one that is not found by its key any more, because the key is what is damaged.

import { totalLength } from '../transaction.ts'
import type { DamagedRowError } from './damaged-row.ts'
import { isChecksumValid, type TableName } from './row-checksum.ts'

/** The values of a row by column, the checksum included. */
export type RowValues = Readonly<Record<string, unknown>>

/** A damaged row that was found; `values` is null where there was no room for them. */
export interface DamagedRowRecord extends Pick<DamagedRowError, 'table' | 'row'> {
  readonly values: RowValues | null
}

/** So many characters and bytes of damaged rows are kept, the first that are found. */
const MAX_KEPT_LENGTH = 16_777_216

/** Keeps values of damaged rows, up to a length that they have together. */
export class DamagedRowBudget {
  #length = 0

  /** The values of a row, or null where there is no room for them. */
  keepIfFits(values: RowValues | null): RowValues | null {
    const length = values ? totalLength(Object.values(values)) : 0
    if (this.#length + length > MAX_KEPT_LENGTH) return null
    this.#length += length
    return values
  }
}

export class DamagedKeys {
  readonly #budget = new DamagedRowBudget()
  readonly #known = new Set<string>()
  readonly #byTable = new Map<string, RowValues[]>()

  add({ table, row, values }: DamagedRowRecord): void {
    const name = `${table} ${row} ${String(values?.checksum)}`
    const kept = this.#known.has(name) ? null : this.#budget.keepIfFits(values)
    if (kept === null) return
    this.#known.add(name)
    this.#byTable.set(table, [...(this.#byTable.get(table) ?? []), kept])
  }

  /**
   * Whether a damaged row was the one with this key, given as values of columns. It was if the checksum is right with the key in its place: then the key is
   * all that is damaged. Of a row that is damaged elsewhere as well nothing is known, and it counts as another one, as that of another owner does.
   */
  has(table: string, key: object): boolean {
    const rows = this.#byTable.get(table) ?? []
    return rows.some((values) => isChecksumValid(table as TableName, { ...values, ...key }))
  }
}
