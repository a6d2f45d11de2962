// How firings in flight are told to end: by the run's cancel, by its time limit, and where all nodes are closed and
// something is still under way.
import type { Clock } from '../../node-api/clock.ts'

/** Milliseconds that firings in flight have to end once they are told to. */
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

  /** The signal that firings see. Made only where one looks at it. */
  get signal(): AbortSignal {
    this.#firings ??= new AbortController()
    if (this.#runSignal.aborted) this.#firings.abort(this.#runSignal.reason)
    return this.#firings.signal
  }

  /** Whether firings were told to end. */
  get aborted(): boolean {
    return this.#graceTimer !== null
  }

  /** Tells firings to end, and calls `over` when their time for it is over. */
  abort(reason: unknown, onTimeout: () => void): void {
    this.#firings ??= new AbortController()
    this.#firings.abort(reason)
    this.#graceTimer = this.#startTimer(ABORT_GRACE_MS, onTimeout)
  }

  /** Calls `over` after some milliseconds. */
  limitTime(ms: number, onTimeout: () => void): void {
    this.#limitTimer = this.#startTimer(ms, onTimeout)
  }

  /** The run is over: no timer is left. */
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
