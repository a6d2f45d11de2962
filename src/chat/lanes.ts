// What is done to one thread is done in order; threads do not wait for each other.
import { ShiftingMap } from '../shifting-map.ts'

export class ThreadLanes {
  readonly #tails = new ShiftingMap<string, Promise<unknown>>()

  /** How many threads something is done to. */
  get size(): number {
    return this.#tails.size
  }

  run<T>(thread_id: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(thread_id) ?? Promise.resolve()
    const result = before.then(work, work)
    const tail = result.catch(() => {})
    this.#tails.set(thread_id, tail)
    void tail.then(() => {
      if (this.#tails.get(thread_id) === tail) this.#tails.delete(thread_id)
    })
    return result
  }
}
