// The queue of one edge: first in, first out, with a limit that its producer respects.
import type { PlanSlot } from './plan-parts.ts'
import { End } from './tokens.ts'

/** How many consumed places are kept before the array is cut. */
const SLACK = 1024

export class Inbox {
  readonly slot: PlanSlot
  readonly consumer: number
  /** How many tokens wait here before the producer pauses. */
  limit: number
  /** Values (not ends, not nothing) that came through so far. */
  counter = 0
  /** When `counter` was last reported, in milliseconds of the run's monotonic time; −1 is never. */
  reported = -1
  /** What comes before the end of the stream of this level is dropped, for nobody wants it; 0: everything is wanted. */
  deaf = 0
  #tokens: unknown[] = []
  #head = 0

  constructor(slot: PlanSlot, consumer: number, limit: number) {
    this.slot = slot
    this.limit = limit
    this.consumer = consumer
  }

  get size(): number {
    return this.#tokens.length - this.#head
  }

  peek(): unknown {
    return this.#tokens[this.#head]
  }

  /** Gives the size after the push. */
  push(token: unknown): number {
    return this.#tokens.push(token) - this.#head
  }

  /** Drops what waits before the end of the stream of a level. False: that end has not come yet. */
  purge(level: number): boolean {
    while (this.size > 0) {
      const head = this.peek()
      if (head instanceof End && head.level <= level) return true
      this.shift()
    }
    return false
  }

  shift(): unknown {
    const token = this.#tokens[this.#head]
    this.#tokens[this.#head++] = undefined
    if (this.#head === this.#tokens.length) {
      this.#tokens.length = 0
      this.#head = 0
    } else if (this.#head >= SLACK) {
      this.#tokens = this.#tokens.slice(this.#head)
      this.#head = 0
    }
    return token
  }
}
