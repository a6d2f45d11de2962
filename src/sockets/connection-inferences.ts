// What one connection has asked models for: the turns that it started, and the inferences that are under way.
import type { PendingMessage } from '../chat/turns/pending-messages.ts'

export class ConnectionInferences {
  readonly #messages = new Set<PendingMessage>()
  readonly #inferences = new Set<AbortController>()

  /** Inferences that are under way. */
  get active(): number {
    return this.#inferences.size
  }

  /** This connection has said something that is to be answered. */
  addMessage(saying: PendingMessage): void {
    this.#messages.add(saying)
    void saying.ended.then(() => this.#messages.delete(saying))
  }

  /** Carries out an inference, whose signal `stop` aborts. */
  async run<T>(work: (stop: AbortSignal) => Promise<T>): Promise<T> {
    const stop = new AbortController()
    this.#inferences.add(stop)
    try {
      return await work(stop.signal)
    } finally {
      this.#inferences.delete(stop)
    }
  }

  /** Stops all that it asked for until now, and nothing that it asks for later. Gives how many there were. */
  stop(): number {
    const count = this.#messages.size + this.#inferences.size
    for (const saying of this.#messages) saying.stop()
    for (const stop of this.#inferences) stop.abort()
    return count
  }
}
