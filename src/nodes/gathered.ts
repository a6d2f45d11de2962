// The items of a stream on their way into a list: how many there may be, and how large they may be together.
import { sizeOf } from '../engine/measure.ts'
import { guardGathered, guardList } from './limits.ts'

export class Gathered {
  readonly list: unknown[] = []
  #size = 0

  /** Throws NodeError `too_large` where the list would be too long, or its items too large together. */
  add(item: unknown): void {
    this.#size += sizeOf(item)
    guardGathered(this.#size)
    guardList(this.list.length + 1)
    this.list.push(item)
  }
}
