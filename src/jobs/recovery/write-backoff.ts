// Keeps rounds over stored jobs from touching any of them while the database cannot be written: each would be read, would begin to run, and would
// fail to be written. One probing write stands for all of them, after pauses that grow.
import { isDatabaseWritable } from '../../db/health/health-probe.ts'
import type { Store } from '../../db/store.ts'

const LEAST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 4_000
/** After a pause one job goes on, and in each round that is written so many times as many. */
const GROWTH = 4

export class WriteBackoff {
  readonly #store: Store
  /** How many jobs the last round was granted; 0 after one that could not be written. */
  #granted = Number.POSITIVE_INFINITY
  #pause_ms = LEAST_PAUSE_MS
  #until = Number.NEGATIVE_INFINITY

  constructor(store: Store) {
    this.#store = store
  }

  /** How many jobs a round may go on with, `most` at the most; 0: none before `wait_ms`. */
  grant(most: number): number {
    if (this.wait_ms > 0) return 0
    const isFirst = this.#granted === 0
    if (!isDatabaseWritable(this.#store)) this.#pause()
    else if (isFirst) this.#granted = 1
    else {
      this.#granted = Math.min(this.#granted * GROWTH, most)
      this.#pause_ms = LEAST_PAUSE_MS
    }
    return this.#granted
  }

  /** A job that went on could not be written. Where that is the job's own matter, the others go on. */
  recordFailure(): void {
    if (this.#granted > 0 && this.#store.fault !== null) this.#pause()
  }

  /** Milliseconds until the next round may ask. */
  get wait_ms(): number {
    return Math.max(this.#until - performance.now(), 0)
  }

  #pause(): void {
    this.#granted = 0
    this.#until = performance.now() + this.#pause_ms
    this.#pause_ms = Math.min(this.#pause_ms * 2, LONGEST_PAUSE_MS)
  }
}
