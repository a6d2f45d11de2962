// The queue of one edge: first in, first out, with a limit that its producer respects.
import { type HeldValues, weightOf as heldWeight } from './held-values.ts'
import type { PlanSlot } from './plan-parts.ts'
import { End } from './tokens.ts'

/** What a token weighs: numbers and marks nothing, as their count is limited. */
function weightOf(token: unknown): number {
  if (typeof token === 'string') return token.length
  return typeof token === 'object' && token !== null && !(token instanceof End) ? heldWeight(token) : 0
}

/** How many consumed places are kept before the array is cut. */
const SLACK = 1024

export class Inbox {
  readonly slot: PlanSlot
  readonly consumer: number
  /** How many tokens wait here before the producer pauses, and about how many characters they may have together. */
  limit: number
  #heaviest: number
  #weight = 0
  readonly #held: HeldValues
  /** Whether its producer has been told to pause. */
  barred = false
  /** Values (not ends, not nothing) that came through so far. */
  counter = 0
  /** When `counter` was last reported, in milliseconds of the run's monotonic time; −1 is never. */
  reported = -1
  /** What comes before the end of the stream of this level is dropped, for nobody wants it; 0: everything is wanted. */
  deaf = 0
  #tokens: unknown[] = []
  #head = 0

  constructor(slot: PlanSlot, consumer: number, limit: number, heaviest: number, held: HeldValues) {
    this.slot = slot
    this.limit = limit
    this.#heaviest = heaviest
    this.#held = held
    this.consumer = consumer
  }

  get size(): number {
    return this.#tokens.length - this.#head
  }

  peek(): unknown {
    return this.#tokens[this.#head]
  }

  get full(): boolean {
    return this.size >= this.limit || this.#weight >= this.#heaviest
  }

  /** Doubles its limits until it has room again. */
  grow(): void {
    do {
      this.limit *= 2
      this.#heaviest *= 2
    } while (this.full)
  }

  /** Gives the size after the push. */
  push(token: unknown): number {
    const weight = weightOf(token)
    if (weight > 0) {
      this.#weight += weight
      this.#held.add(token, weight)
    }
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
    const weight = weightOf(token)
    if (weight > 0) {
      this.#weight -= weight
      this.#held.remove(token, weight)
    }
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
