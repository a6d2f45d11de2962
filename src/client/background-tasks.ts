// What is still done for callers who have given up: cancelling their jobs. It has a limit of time, and nobody hears how it ends.

import { raceAbort } from './abortable-waits.ts'
import { timeoutError } from './errors.ts'

export class BackgroundTasks {
  readonly #timeout_ms: number
  readonly #running = new Set<Promise<void>>()

  constructor(limit_ms: number) {
    this.#timeout_ms = limit_ms
  }

  /** Does `work`, which is to end when its signal is aborted. */
  run(work: (limit: AbortSignal) => Promise<unknown>): void {
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(timeoutError('What was given up', this.#timeout_ms)), this.#timeout_ms)
    const over = () => {
      clearTimeout(timer)
      this.#running.delete(running)
    }
    const running = raceAbort(work(limit.signal), limit.signal).then(over, over)
    this.#running.add(running)
  }

  /** Resolves when nothing is being done. */
  async waitUntilIdle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
  }
}
