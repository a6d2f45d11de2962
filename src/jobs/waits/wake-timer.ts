// One timer for all suspended jobs that wait for time: it rings when the soonest of them is due. A database that cannot be read keeps it from
// nothing but this: it looks again after a pause.
import { findNextWakeTime } from '../../db/jobs/rows.ts'
import type { Store } from '../../db/store.ts'
import type { Log } from '../../log.ts'

/** It looks again after this long, and remembers what was done to the machine's clock. */
const LONGEST_TIMER_MS = 30_000
/** The pause after it could not look, or a ring failed. */
const FAILED_PAUSE_MS = 1_000

export class WakeTimer {
  readonly #parts: { readonly store: Store; readonly log: Log }
  readonly #now: () => number
  readonly #wake: () => void
  #timer: NodeJS.Timeout | null = null
  /** When it rings, by the monotonic clock. */
  #fires_at = 0
  #stopped = false
  #failureCount = 0
  /** Whether the log knows that it fails. */
  #isFailureLogged = false

  constructor(parts: { readonly store: Store; readonly log: Log }, now: () => number, ring: () => void) {
    this.#parts = parts
    this.#now = now
    this.#wake = ring
  }

  /** Rings when the next one is due, of those after `after` (milliseconds since the epoch); within `most_ms` from now in any case, unless that is infinite, or sooner where that is set already. It never throws. */
  schedule({ after, most_ms }: { after: number; most_ms: number }): void {
    if (this.#stopped) return
    try {
      const due = this.#parts.store.read((tx) => findNextWakeTime(tx, after))
      this.#startTimer(Math.min(due === null ? most_ms : Math.max(due - this.#now(), 0), most_ms))
    } catch (error) {
      this.#onFailure(error)
    }
  }

  /** Rings in so many milliseconds. */
  scheduleIn(ms: number): void {
    if (!this.#stopped) this.#startTimer(ms)
  }

  stop(): void {
    this.#stopped = true
    this.#clearTimer()
  }

  /** A ring that comes sooner anyway stays: whoever sets it again and again must not put it off for ever. */
  #startTimer(ms: number): void {
    if (ms === Number.POSITIVE_INFINITY) return
    const at = performance.now() + Math.min(ms, LONGEST_TIMER_MS)
    if (this.#timer && this.#fires_at <= at) return
    this.#clearTimer()
    this.#fires_at = at
    this.#timer = setTimeout(() => this.#fire(), Math.min(ms, LONGEST_TIMER_MS)).unref()
  }

  #clearTimer(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
  }

  #fire(): void {
    this.#timer = null
    const before = this.#failureCount
    try {
      this.#wake()
    } catch (error) {
      this.#onFailure(error)
    }
    if (this.#failureCount === before) this.#isFailureLogged = false
  }

  #onFailure(err: unknown): void {
    this.#failureCount++
    if (this.#stopped) return
    this.#startTimer(FAILED_PAUSE_MS)
    if (this.#isFailureLogged) return
    this.#isFailureLogged = true
    this.#parts.log.error({ err }, 'suspended jobs that are due cannot be read: they go on when they can be')
  }
}
