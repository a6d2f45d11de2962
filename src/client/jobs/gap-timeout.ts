// Decides how long to wait for missing events, and what to do after that.
import type { JobHistory } from './history.ts'

/** Where no later event came, the missing events may still be under way. The wait is this many times as long. */
const NO_LATER_EVENT_FACTOR = 5

export class GapTimeout {
  readonly #history: JobHistory
  readonly #gap_ms: number
  #last_sequence: number
  /** Since when an event is missing without any progress. */
  #missingSince: number | null = null
  /** How often the missing events were requested without success. */
  #requests = 0

  constructor(history: JobHistory, gap_ms: number) {
    this.#history = history
    this.#gap_ms = gap_ms
    this.#last_sequence = history.last_sequence
  }

  /** Milliseconds until the timeout. Infinite while no event is missing. */
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

  /** After the timeout: whether to request the events again, or to skip them. */
  nextAction(): 'ask' | 'skip' {
    this.#missingSince = null
    return ++this.#requests > 1 ? 'skip' : 'ask'
  }
}
