// What is still done for callers who have given up: cancelling their jobs. It has a limit of time, and nobody hears how it ends.
import { timeoutError } from './errors.ts'
import { unlessAborted } from './waiting.ts'

export class Errands {
  readonly #limit_ms: number
  readonly #running = new Set<Promise<void>>()

  constructor(limit_ms: number) {
    this.#limit_ms = limit_ms
  }

  /** Does `work`, which is to end when its signal is aborted. */
  run(work: (limit: AbortSignal) => Promise<unknown>): void {
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(timeoutError('What was given up', this.#limit_ms)), this.#limit_ms)
    const over = () => {
      clearTimeout(timer)
      this.#running.delete(running)
    }
    const running = unlessAborted(work(limit.signal), limit.signal).then(over, over)
    this.#running.add(running)
  }

  /** Resolves when nothing is being done. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
  }
}
