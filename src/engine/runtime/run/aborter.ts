// Aborts firings in flight: on cancel, on the time limit, and when all nodes are closed while work is still in flight.
import type { Clock } from '../../node-api/clock.ts'

/** Milliseconds that aborted firings have to end. */
const ABORT_GRACE_MS = 5000

export class RunAborter {
  readonly #runSignal: AbortSignal
  readonly #clock: Clock
  #firings: AbortController | null = null
  #graceTimer: AbortController | null = null
  #limitTimer: AbortController | null = null

  constructor(runSignal: AbortSignal, clock: Clock) {
    this.#runSignal = runSignal
    this.#clock = clock
  }

  /** The abort signal of firings, created on demand. */
  get signal(): AbortSignal {
    this.#firings ??= new AbortController()
    if (this.#runSignal.aborted) this.#firings.abort(this.#runSignal.reason)
    return this.#firings.signal
  }

  /** Whether firings were aborted. */
  get aborted(): boolean {
    return this.#graceTimer !== null
  }

  /** Aborts firings, and calls `onTimeout` when their grace time is over. */
  abort(reason: unknown, onTimeout: () => void): void {
    this.#firings ??= new AbortController()
    this.#firings.abort(reason)
    this.#graceTimer = this.#startTimer(ABORT_GRACE_MS, onTimeout)
  }

  /** Calls `onTimeout` after `ms`. */
  limitTime(ms: number, onTimeout: () => void): void {
    this.#limitTimer = this.#startTimer(ms, onTimeout)
  }

  /** Ends all timers when the run is over. */
  close(): void {
    this.#graceTimer?.abort()
    this.#limitTimer?.abort()
  }

  #startTimer(ms: number, onTimeout: () => void): AbortController {
    const timer = new AbortController()
    this.#clock.sleep(ms, timer.signal).then(onTimeout, () => {})
    return timer
  }
}
