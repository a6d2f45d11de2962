// The items of a stream on their way into a list: how many there may be, and how large they may be together.
import { estimateSize } from '../../engine/node-api/values/measure.ts'
import { guardListLength, guardTotalText } from '../shared/value-limits.ts'

export class ItemCollector {
  readonly list: unknown[] = []
  #size = 0

  /** Throws NodeError `too_large` where the list would be too long, or its items too large together. */
  add(item: unknown): void {
    this.#size += estimateSize(item)
    guardTotalText(this.#size)
    guardListLength(this.list.length + 1)
    this.list.push(item)
  }
}
