// One timer for all suspended jobs that wait for time: it rings when the soonest of them is due. A database that cannot be read keeps it from
// nothing but this: it looks again after a pause.
import { nextWake } from '../db/jobs.ts'
import type { Store } from '../db/store.ts'
import type { Log } from '../log.ts'

/** It looks again after this long, and remembers what was done to the machine's clock. */
const LONGEST_TIMER_MS = 30_000
/** The pause after it could not look, or a ring failed. */
const FAILED_PAUSE_MS = 1_000

export class Alarm {
  readonly #parts: { readonly store: Store; readonly log: Log }
  readonly #now: () => number
  readonly #ring: () => void
  #timer: NodeJS.Timeout | null = null
  /** When it rings, by the monotonic clock. */
  #rings_at = 0
  #stopped = false
  #failures = 0
  /** Whether the log knows that it fails. */
  #told = false

  constructor(parts: { readonly store: Store; readonly log: Log }, now: () => number, ring: () => void) {
    this.#parts = parts
    this.#now = now
    this.#ring = ring
  }

  /** Rings when the next one is due, of those after `after` (milliseconds since the epoch); within `most_ms` from now in any case, unless that is infinite, or sooner where that is set already. It never throws. */
  set({ after, most_ms }: { after: number; most_ms: number }): void {
    if (this.#stopped) return
    try {
      const due = this.#parts.store.read((tx) => nextWake(tx, after))
      this.#ringIn(Math.min(due === null ? most_ms : Math.max(due - this.#now(), 0), most_ms))
    } catch (error) {
      this.#failed(error)
    }
  }

  /** Rings in so many milliseconds. */
  ringIn(ms: number): void {
    if (!this.#stopped) this.#ringIn(ms)
  }

  stop(): void {
    this.#stopped = true
    this.#clear()
  }

  /** A ring that comes sooner anyway stays: whoever sets it again and again must not put it off for ever. */
  #ringIn(ms: number): void {
    if (ms === Number.POSITIVE_INFINITY) return
    const at = performance.now() + Math.min(ms, LONGEST_TIMER_MS)
    if (this.#timer && this.#rings_at <= at) return
    this.#clear()
    this.#rings_at = at
    this.#timer = setTimeout(() => this.#rings(), Math.min(ms, LONGEST_TIMER_MS)).unref()
  }

  #clear(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
  }

  #rings(): void {
    this.#timer = null
    const before = this.#failures
    try {
      this.#ring()
    } catch (error) {
      this.#failed(error)
    }
    if (this.#failures === before) this.#told = false
  }

  #failed(err: unknown): void {
    this.#failures++
    if (this.#stopped) return
    this.#ringIn(FAILED_PAUSE_MS)
    if (this.#told) return
    this.#told = true
    this.#parts.log.error({ err }, 'suspended jobs that are due cannot be read: they go on when they can be')
  }
}
