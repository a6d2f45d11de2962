// FairExecutor runs one piece of work at a time, and owners take turns.
import { FairQueue } from '../shared/fair-queue.ts'

type Work = () => Promise<void>

export class FairExecutor {
  readonly #waiting = new FairQueue<Work>()
  #busy = false

  /** Runs `work` in its turn, and resolves to its result. */
  run<T>(owner: string, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      // Work may also throw synchronously; the work behind it still runs.
      const begun = async () => work()
      this.#waiting.add(owner, () => begun().then(resolve, reject))
      if (!this.#busy) void this.#runAll()
    })
  }

  async #runAll(): Promise<void> {
    this.#busy = true
    for (let next = this.#waiting.take(); next; next = this.#waiting.take()) await next()
    this.#busy = false
  }
}
