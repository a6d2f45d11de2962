// The queue of one edge: first in, first out, with a limit that its producer respects.

import type { PlanSlot } from '../../compile/plan.ts'
import { estimateWeight as heldWeight, type RunMemoryAccount } from '../run/memory-account.ts'
import { StreamEndToken } from './tokens.ts'

/** The weight of a token. Numbers and marks weigh nothing, as their count is limited. */
function estimateTokenWeight(token: unknown): number {
  if (typeof token === 'string') return token.length
  return typeof token === 'object' && token !== null && !(token instanceof StreamEndToken) ? heldWeight(token) : 0
}

/** The array is compacted once this many tokens were removed. */
const COMPACT_AFTER = 1024

export class Inbox {
  readonly slot: PlanSlot
  readonly consumer: number
  /** The limits of tokens and of their approximate characters before the producer pauses. */
  limit: number
  #maxWeight: number
  #weight = 0
  readonly #memoryAccount: RunMemoryAccount
  /** Whether its producer has paused. */
  isProducerPaused = false
  /** The number of values received so far, without ends and absent values. */
  valueCount = 0
  /** When `valueCount` was last reported, in milliseconds of the run's monotonic time; −1: never. */
  reportedAt = -1
  /** Tokens before the end of the stream of this level are dropped as unwanted; 0: all are wanted. */
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

  /** Doubles its limits until it has room. */
  grow(): void {
    do {
      this.limit *= 2
      this.#maxWeight *= 2
    } while (this.isFull)
  }

  /** Returns the size after the push. */
  push(token: unknown): number {
    const weight = estimateTokenWeight(token)
    if (weight > 0) {
      this.#weight += weight
      this.#memoryAccount.add(token, weight)
    }
    return this.#tokens.push(token) - this.#head
  }

  /** Drops waiting tokens before the end of the stream of a level. False: that end has not arrived yet. */
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
