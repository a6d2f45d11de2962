// When events are missing: for how long to wait, and what to do then.
import type { JobHistory } from './history.ts'

/** Where nothing later came, the events may still be on their way: this many times the wait. */
const NO_LATER_EVENT_FACTOR = 5

export class GapTimeout {
  readonly #history: JobHistory
  readonly #gap_ms: number
  #last_sequence: number
  /** Since when something is missing and nothing came that helps. */
  #missingSince: number | null = null
  /** How often the missing events were asked for in vain. */
  #requests = 0

  constructor(history: JobHistory, gap_ms: number) {
    this.#history = history
    this.#gap_ms = gap_ms
    this.#last_sequence = history.last_sequence
  }

  /** Milliseconds until it is at its end; infinite while nothing is missing. */
  get remaining_ms(): number {
    const { last_sequence, isBehind, hasGap } = this.#history
    if (last_sequence !== this.#last_sequence || !isBehind) {
      this.#last_sequence = last_sequence
      this.#missingSince = null
      this.#requests = 0
    }
    if (!isBehind) return Number.POSITIVE_INFINITY
    this.#missingSince ??= performance.now()
    return this.#gap_ms * (hasGap ? 1 : NO_LATER_EVENT_FACTOR) - (performance.now() - this.#missingSince)
  }

  /** At its end: whether to ask for the events again, or to do without them. */
  nextAction(): 'ask' | 'skip' {
    this.#missingSince = null
    return ++this.#requests > 1 ? 'skip' : 'ask'
  }
}
