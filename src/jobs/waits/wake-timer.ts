// One timer for all suspended jobs with a wake time: it fires when the next job is due. Where the database cannot be read, the timer tries again after a
// pause.
import { findNextWakeTime } from '../../db/jobs/rows.ts'
import type { Store } from '../../db/store.ts'
import type { Log } from '../../log.ts'

/** The timer fires at least this often, so that changes of the system clock are stored. */
const LONGEST_TIMER_MS = 30_000
/** The pause after a failed read or wake call. */
const FAILED_PAUSE_MS = 1_000

export class WakeTimer {
  readonly #parts: { readonly store: Store; readonly log: Log }
  readonly #now: () => number
  readonly #wake: () => void
  #timer: NodeJS.Timeout | null = null
  /** The time when the timer fires, by the monotonic clock. */
  #fires_at = 0
  #stopped = false
  #failureCount = 0
  /** Whether the current failure is logged. */
  #isFailureLogged = false

  constructor(parts: { readonly store: Store; readonly log: Log }, now: () => number, wake: () => void) {
    this.#parts = parts
    this.#now = now
    this.#wake = wake
  }

  /**
   * Sets the timer for the next job that is due after `after` (milliseconds since the epoch), but within `most_ms` unless that is infinite. An earlier
   * setting stays. It never throws.
   */
  schedule({ after, most_ms }: { after: number; most_ms: number }): void {
    if (this.#stopped) return
    try {
      const due = this.#parts.store.read((tx) => findNextWakeTime(tx, after))
      this.#startTimer(Math.min(due === null ? most_ms : Math.max(due - this.#now(), 0), most_ms))
    } catch (error) {
      this.#onFailure(error)
    }
  }

  scheduleIn(ms: number): void {
    if (!this.#stopped) this.#startTimer(ms)
  }

  stop(): void {
    this.#stopped = true
    this.#clearTimer()
  }

  /** An earlier setting stays, so that repeated calls cannot delay the timer for ever. */
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
    this.#parts.log.error({ err }, 'suspended jobs that are due cannot be read: they are resumed once they can be')
  }
}
