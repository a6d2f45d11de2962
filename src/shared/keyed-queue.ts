// Work under one key is done in order, one task after the other. Work under different keys is independent.
import { ChurnMap } from './churn-map.ts'

interface KeyQueue {
  tail: Promise<unknown>
  /** The number of tasks that have not ended. */
  length: number
}

export class KeyedQueue {
  readonly #lines = new ChurnMap<string, KeyQueue>()

  /** The number of keys with unfinished work. */
  get size(): number {
    return this.#lines.size
  }

  /** The number of unfinished tasks under a key. */
  length(key: string): number {
    return this.#lines.get(key)?.length ?? 0
  }

  /** Runs `work` after all earlier work under the key, and returns its result. */
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
