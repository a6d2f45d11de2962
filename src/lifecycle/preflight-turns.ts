// Turns of the event loop: a preflight may look at very much, and others have theirs in between. It ends where nobody waits for it any more.
import { ServiceError } from '../errors.ts'

/** How long a preflight goes on before others may have their turn, in milliseconds. */
const TURN_MS = 5

export class Turns {
  readonly #signal: AbortSignal
  #until = performance.now() + TURN_MS

  constructor(signal: AbortSignal) {
    this.#signal = signal
  }

  /** Whether others have waited long enough. */
  get over(): boolean {
    return performance.now() >= this.#until
  }

  /** @throws SERVICE_UNAVAILABLE where the signal has aborted */
  async next(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve))
    if (this.#signal.aborted) throw new ServiceError('SERVICE_UNAVAILABLE')
    this.#until = performance.now() + TURN_MS
  }
}
