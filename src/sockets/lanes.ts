// Commands that name the same job are carried out in order; everything else goes on beside them.
import { ShiftingMap } from '../shifting-map.ts'

export class Lanes {
  readonly #tails = new ShiftingMap<string, Promise<void>>()

  /** Runs `work` after everything given earlier under the same key; without a key at once. Resolves when it has ended. */
  run(key: string | null, work: () => void | Promise<void>): Promise<void> {
    if (key === null) return Promise.resolve(work())
    const tail = (this.#tails.get(key) ?? Promise.resolve()).then(work)
    this.#tails.set(key, tail)
    void tail.finally(() => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key)
    })
    return tail
  }
}
