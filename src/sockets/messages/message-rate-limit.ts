// Limits the number of messages that a socket may send in a second.
import type { Config } from '../../config.ts'
import type { Platform } from '../../platform.ts'

const WINDOW_MS = 1_000

export class MessageRateLimit {
  readonly #config: Config
  readonly #platform: Platform
  #windowStart = 0
  #windowCount = 0

  constructor(config: Config, platform: Platform) {
    this.#config = config
    this.#platform = platform
  }

  /** Counts a message, and returns whether it is over the limit. */
  isExceededByNext(): boolean {
    const { ws_rate_limit_disabled, ws_rate_limit_max } = this.#config
    if (ws_rate_limit_disabled) return false
    const now = this.#platform.now()
    const elapsed = now - this.#windowStart
    // A clock that was set back also begins a window.
    if (elapsed >= WINDOW_MS || elapsed < 0) {
      this.#windowStart = now
      this.#windowCount = 0
    }
    this.#windowCount++
    return this.#windowCount > ws_rate_limit_max
  }
}
