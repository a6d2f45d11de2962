// How firings in flight are told to end: by the run's cancel, by its time limit, and where all nodes are closed and
// something is still under way.
import type { Clock } from './clock.ts'

/** Milliseconds that firings in flight have to end once they are told to. */
const GRACE = 5000

export class Aborter {
  readonly #host: AbortSignal
  readonly #clock: Clock
  #firings: AbortController | null = null
  #grace: AbortController | null = null
  #limit: AbortController | null = null

  constructor(host: AbortSignal, clock: Clock) {
    this.#host = host
    this.#clock = clock
  }

  /** The signal that firings see. Made only where one looks at it. */
  get signal(): AbortSignal {
    this.#firings ??= new AbortController()
    if (this.#host.aborted) this.#firings.abort(this.#host.reason)
    return this.#firings.signal
  }

  /** Whether firings were told to end. */
  get aborted(): boolean {
    return this.#grace !== null
  }

  /** Tells firings to end, and calls `over` when their time for it is over. */
  abort(reason: unknown, over: () => void): void {
    this.#firings ??= new AbortController()
    this.#firings.abort(reason)
    this.#grace = this.#after(GRACE, over)
  }

  /** Calls `over` after some milliseconds. */
  limitTime(ms: number, over: () => void): void {
    this.#limit = this.#after(ms, over)
  }

  /** The run is over: no timer is left. */
  close(): void {
    this.#grace?.abort()
    this.#limit?.abort()
  }

  #after(ms: number, over: () => void): AbortController {
    const timer = new AbortController()
    this.#clock.sleep(ms, timer.signal).then(over, () => {})
    return timer
  }
}
