// How long a follower has been without a connection: it goes on with growing delays, until it has been too long.
import { isRetryable } from './errors.ts'
import { delayAfter, type Settings } from './settings.ts'
import { sleep } from './waiting.ts'

export class Downtime {
  readonly #settings: Settings
  #failures = 0
  #since: number | null = null

  constructor(settings: Settings) {
    this.#settings = settings
  }

  /** There was a connection. Only one that brought something new makes the next delays short again. */
  over(progress: boolean): void {
    if (progress) this.#failures = 0
    this.#since = null
  }

  /**
   * Waits before the next attempt, at least for `least_ms`.
   * @throws the error, where trying again is of no use or has lasted too long
   */
  async wait(error: unknown, signal: AbortSignal, least_ms = 0): Promise<void> {
    signal.throwIfAborted()
    if (!isRetryable(error)) throw error
    const now = performance.now()
    this.#since ??= now
    const least = Math.max(least_ms, error.retry_after_ms ?? 0)
    if (now + least - this.#since > this.#settings.times.give_up_ms) throw error
    await sleep(Math.max(least, delayAfter(this.#settings.backoff, this.#failures++)), signal)
  }
}
