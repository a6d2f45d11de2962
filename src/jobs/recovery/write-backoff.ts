// Pauses rounds over stored jobs while the database cannot be written: otherwise each job would be read and started, and then fail. One probing write stands
// for all jobs, after growing pauses.
import { isDatabaseWritable } from '../../db/health/health-probe.ts'
import type { Store } from '../../db/store.ts'

const LEAST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 4_000
/** After a pause a round continues one job, and each successful round this many times more. */
const GROWTH = 4

export class WriteBackoff {
  readonly #store: Store
  /** The jobs granted to the last round; 0 after a failed write. */
  #granted = Number.POSITIVE_INFINITY
  #pause_ms = LEAST_PAUSE_MS
  #until = Number.NEGATIVE_INFINITY

  constructor(store: Store) {
    this.#store = store
  }

  /** How many jobs a round may continue, up to `most`; 0: none until `wait_ms` has passed. */
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

  /** Called when a continued job could not be written. Where the fault concerns that job alone, there is no pause. */
  recordFailure(): void {
    if (this.#granted > 0 && this.#store.fault !== null) this.#pause()
  }

  /** Milliseconds until the next round. */
  get wait_ms(): number {
    return Math.max(this.#until - performance.now(), 0)
  }

  #pause(): void {
    this.#granted = 0
    this.#until = performance.now() + this.#pause_ms
    this.#pause_ms = Math.min(this.#pause_ms * 2, LONGEST_PAUSE_MS)
  }
}
