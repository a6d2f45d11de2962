// The model calls of a connection: the turns that it started, and its running inferences.
import type { PendingMessage } from '../chat/turns/pending-messages.ts'

export class ConnectionInferences {
  readonly #messages = new Set<PendingMessage>()
  readonly #inferences = new Set<AbortController>()

  /** The number of running inferences. */
  get active(): number {
    return this.#inferences.size
  }

  /** Tracks a message of this connection that is to be answered. */
  addMessage(message: PendingMessage): void {
    this.#messages.add(message)
    void message.ended.then(() => this.#messages.delete(message))
  }

  /** Runs an inference, whose signal `stop` aborts. */
  async run<T>(work: (stop: AbortSignal) => Promise<T>): Promise<T> {
    const stop = new AbortController()
    this.#inferences.add(stop)
    try {
      return await work(stop.signal)
    } finally {
      this.#inferences.delete(stop)
    }
  }

  /** Stops all present turns and inferences, but no later ones. Returns their number. */
  stop(): number {
    const count = this.#messages.size + this.#inferences.size
    for (const message of this.#messages) message.stop()
    for (const stop of this.#inferences) stop.abort()
    return count
  }
}
