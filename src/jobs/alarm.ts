// One timer for all suspended jobs that wait for time: it rings when the soonest of them is due.
import { nextWake } from '../db/jobs.ts'
import type { Store } from '../db/store.ts'

/** It looks again after this long, and remembers what was done to the machine's clock. */
const LONGEST_TIMER_MS = 30_000

export class Alarm {
  readonly #store: Store
  readonly #now: () => number
  readonly #ring: () => void
  #timer: NodeJS.Timeout | null = null
  #stopped = false

  constructor(store: Store, now: () => number, ring: () => void) {
    this.#store = store
    this.#now = now
    this.#ring = ring
  }

  /** Looks when the next one is due, of those after `after`; not before `least_ms` from now. */
  set(least_ms = 0, after = 0): void {
    if (this.#stopped) return
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    const due = this.#store.read((tx) => nextWake(tx, after))
    if (due === null) return
    const left = Math.min(Math.max(due - this.#now(), least_ms, 0), LONGEST_TIMER_MS)
    this.#timer = setTimeout(() => this.#ring(), left)
    this.#timer.unref()
  }

  stop(): void {
    this.#stopped = true
    if (this.#timer) clearTimeout(this.#timer)
  }
}
