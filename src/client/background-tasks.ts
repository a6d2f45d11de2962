// Work that goes on after its caller has given up, such as cancelling its jobs. The work has a time limit, and its result is not reported.

import { raceAbort } from './abortable-waits.ts'
import { timeoutError } from './errors.ts'

export class BackgroundTasks {
  readonly #timeout_ms: number
  readonly #running = new Set<Promise<void>>()

  constructor(limit_ms: number) {
    this.#timeout_ms = limit_ms
  }

  /** Runs `work`, which ends when its signal aborts. */
  run(work: (limit: AbortSignal) => Promise<unknown>): void {
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(timeoutError('The background task', this.#timeout_ms)), this.#timeout_ms)
    const over = () => {
      clearTimeout(timer)
      this.#running.delete(running)
    }
    const running = raceAbort(work(limit.signal), limit.signal).then(over, over)
    this.#running.add(running)
  }

  /** Resolves when no task is running. */
  async waitUntilIdle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
  }
}
