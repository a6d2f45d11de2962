// Delays between the attempts of a follower to reconnect. The delays grow, until the follower has been without a connection for too long.

import { sleep } from '../abortable-waits.ts'
import { backoffDelayMs, type ResolvedClientOptions } from '../client-options.ts'
import { isRetryable } from '../errors.ts'

export class ReconnectBackoff {
  readonly #settings: ResolvedClientOptions
  #failures = 0
  #disconnectedSince: number | null = null

  constructor(settings: ResolvedClientOptions) {
    this.#settings = settings
  }

  /** Records a connection. Only a connection with progress resets the delay. */
  recordConnection(progress: boolean): void {
    if (progress) this.#failures = 0
    this.#disconnectedSince = null
  }

  /**
   * Waits before the next attempt, at least for `least_ms`.
   * @throws the error, where it is not retryable or the time limit is reached
   */
  async waitBeforeRetry(error: unknown, signal: AbortSignal, least_ms = 0): Promise<void> {
    signal.throwIfAborted()
    if (!isRetryable(error)) throw error
    const now = performance.now()
    this.#disconnectedSince ??= now
    const least = Math.max(least_ms, error.retry_after_ms ?? 0)
    if (now + least - this.#disconnectedSince > this.#settings.times.give_up_ms) throw error
    await sleep(Math.max(least, backoffDelayMs(this.#settings.backoff, this.#failures++)), signal)
  }
}
