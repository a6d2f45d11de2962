// Work under one key is done in order, one piece after the other. Work under different keys does not wait for each other.
import { ChurnMap } from './churn-map.ts'

interface KeyQueue {
  tail: Promise<unknown>
  /** Pieces of work that have not ended. */
  length: number
}

export class KeyedQueue {
  readonly #lines = new ChurnMap<string, KeyQueue>()

  /** How many keys there is work under. */
  get size(): number {
    return this.#lines.size
  }

  /** How many pieces of work under a key have not ended. */
  length(key: string): number {
    return this.#lines.get(key)?.length ?? 0
  }

  /** Runs `work` after all earlier work under the key, and gives what it gives. */
  run<T>(key: string, work: () => T | Promise<T>): Promise<T> {
    const line = this.#lines.get(key) ?? { tail: Promise.resolve(), length: 0 }
    const result = line.tail.then(work)
    this.#lines.set(key, line)
    line.length++
    line.tail = result.then(
      () => this.#end(key, line),
      () => this.#end(key, line),
    )
    return result
  }

  #end(key: string, line: KeyQueue): void {
    if (--line.length === 0) this.#lines.delete(key)
  }
}
