// Distinguishes a missing row from a damaged row that is not found by its key, because the key itself is damaged.

import { totalLength } from '../transaction.ts'
import type { DamagedRowError } from './damaged-row.ts'
import { isChecksumValid, type TableName } from './row-checksum.ts'

/** The values of a row by column, including the checksum. */
export type RowValues = Readonly<Record<string, unknown>>

/** A damaged row; `values` is null if there was no room for them. */
export interface DamagedRowRecord extends Pick<DamagedRowError, 'table' | 'row'> {
  readonly values: RowValues | null
}

/** The limit of kept characters and bytes of damaged rows; the first rows are kept. */
const MAX_KEPT_LENGTH = 16_777_216

/** Keeps values of damaged rows, up to a total length. */
export class DamagedRowBudget {
  #length = 0

  /** The values of a row; null: there is no room for them. */
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
   * Whether a damaged row has this key, given as values of columns. It has if its checksum is right with the key in place, so that only the key is
   * damaged. A row that is damaged elsewhere as well counts as a different one, like a row of another owner.
   */
  has(table: string, key: object): boolean {
    const rows = this.#byTable.get(table) ?? []
    return rows.some((values) => isChecksumValid(table as TableName, { ...values, ...key }))
  }
}
