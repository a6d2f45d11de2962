// The queue of one edge: first in, first out, with a limit that its producer respects.

import type { PlanSlot } from '../../compile/plan.ts'
import { estimateWeight as heldWeight, type RunMemoryAccount } from '../run/memory-account.ts'
import { StreamEndToken } from './tokens.ts'

/** What a token weighs: numbers and marks nothing, as their count is limited. */
function estimateTokenWeight(token: unknown): number {
  if (typeof token === 'string') return token.length
  return typeof token === 'object' && token !== null && !(token instanceof StreamEndToken) ? heldWeight(token) : 0
}

/** How many consumed places are kept before the array is cut. */
const COMPACT_AFTER = 1024

export class Inbox {
  readonly slot: PlanSlot
  readonly consumer: number
  /** How many tokens wait here before the producer pauses, and about how many characters they may have together. */
  limit: number
  #maxWeight: number
  #weight = 0
  readonly #memoryAccount: RunMemoryAccount
  /** Whether its producer has been told to pause. */
  isProducerPaused = false
  /** Values (not ends, not nothing) that came through so far. */
  valueCount = 0
  /** When `counter` was last reported, in milliseconds of the run's monotonic time; −1 is never. */
  reportedAt = -1
  /** What comes before the end of the stream of this level is dropped, for nobody wants it; 0: everything is wanted. */
  unsubscribedLevel = 0
  #tokens: unknown[] = []
  #head = 0

  constructor(slot: PlanSlot, consumer: number, limit: number, maxWeight: number, memoryAccount: RunMemoryAccount) {
    this.slot = slot
    this.limit = limit
    this.#maxWeight = maxWeight
    this.#memoryAccount = memoryAccount
    this.consumer = consumer
  }

  get size(): number {
    return this.#tokens.length - this.#head
  }

  peek(): unknown {
    return this.#tokens[this.#head]
  }

  get isFull(): boolean {
    return this.size >= this.limit || this.#weight >= this.#maxWeight
  }

  /** Doubles its limits until it has room again. */
  grow(): void {
    do {
      this.limit *= 2
      this.#maxWeight *= 2
    } while (this.isFull)
  }

  /** Gives the size after the push. */
  push(token: unknown): number {
    const weight = estimateTokenWeight(token)
    if (weight > 0) {
      this.#weight += weight
      this.#memoryAccount.add(token, weight)
    }
    return this.#tokens.push(token) - this.#head
  }

  /** Drops what waits before the end of the stream of a level. False: that end has not come yet. */
  purge(level: number): boolean {
    while (this.size > 0) {
      const head = this.peek()
      if (head instanceof StreamEndToken && head.level <= level) return true
      this.shift()
    }
    return false
  }

  shift(): unknown {
    const token = this.#tokens[this.#head]
    this.#tokens[this.#head++] = undefined
    const weight = estimateTokenWeight(token)
    if (weight > 0) {
      this.#weight -= weight
      this.#memoryAccount.remove(token, weight)
    }
    if (this.#head === this.#tokens.length) {
      this.#tokens.length = 0
      this.#head = 0
    } else if (this.#head >= COMPACT_AFTER) {
      this.#tokens = this.#tokens.slice(this.#head)
      this.#head = 0
    }
    return token
  }
}
