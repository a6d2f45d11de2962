// Gathers the items of a stream into a list, within limits of their number and total size.
import { estimateSize } from '../../engine/node-api/values/measure.ts'
import { guardListLength, guardTotalText } from '../shared/value-limits.ts'

export class ItemCollector {
  readonly list: unknown[] = []
  #size = 0

  /** @throws NodeError `too_large` if the list gets too long, or its items too large together */
  add(item: unknown): void {
    this.#size += estimateSize(item)
    guardTotalText(this.#size)
    guardListLength(this.list.length + 1)
    this.list.push(item)
  }
}
