// When events are missing: for how long to wait, and what to do then.
import type { History } from './history.ts'

/** Where nothing later came, the events may still be on their way: this many times the wait. */
const SLOW = 5

export class Patience {
  readonly #history: History
  readonly #gap_ms: number
  #last: number
  /** Since when something is missing and nothing came that helps. */
  #since: number | null = null
  /** How often the missing events were asked for in vain. */
  #asked = 0

  constructor(history: History, gap_ms: number) {
    this.#history = history
    this.#gap_ms = gap_ms
    this.#last = history.last
  }

  /** Milliseconds until it is at its end; infinite while nothing is missing. */
  get left(): number {
    const { last, behind, torn } = this.#history
    if (last !== this.#last || !behind) {
      this.#last = last
      this.#since = null
      this.#asked = 0
    }
    if (!behind) return Number.POSITIVE_INFINITY
    this.#since ??= performance.now()
    return this.#gap_ms * (torn ? 1 : SLOW) - (performance.now() - this.#since)
  }

  /** At its end: whether to ask for the events again, or to do without them. */
  next(): 'ask' | 'skip' {
    this.#since = null
    return ++this.#asked > 1 ? 'skip' : 'ask'
  }
}
