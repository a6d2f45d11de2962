// What one connection has asked models for: the turns that it started, and the inferences that are under way.
import type { Saying } from '../chat/sayings.ts'

export class Asking {
  readonly #sayings = new Set<Saying>()
  readonly #inferences = new Set<AbortController>()

  /** Inferences that are under way. */
  get inferences(): number {
    return this.#inferences.size
  }

  /** This connection has said something that is to be answered. */
  said(saying: Saying): void {
    this.#sayings.add(saying)
    void saying.ended.then(() => this.#sayings.delete(saying))
  }

  /** Carries out an inference, whose signal `stop` aborts. */
  async infer<T>(work: (stop: AbortSignal) => Promise<T>): Promise<T> {
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
    const count = this.#sayings.size + this.#inferences.size
    for (const saying of this.#sayings) saying.stop()
    for (const stop of this.#inferences) stop.abort()
    return count
  }
}
