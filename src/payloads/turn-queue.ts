// One piece of work at a time. Owners take turns, so that one who brings twenty delays another one by one at the most.

type Work = () => Promise<void>

export class TurnQueue {
  /** Work that waits, by owner; the next owner first. */
  readonly #waiting = new Map<string, Work[]>()
  #busy = false

  /** Runs `work` in its turn, and gives what it gives. */
  run<T>(owner: string, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      // Work may also fail before it gives a promise: what waits behind it goes on.
      const begun = async () => work()
      const entry = () => begun().then(resolve, reject)
      const waiting = this.#waiting.get(owner)
      if (waiting) waiting.push(entry)
      else this.#waiting.set(owner, [entry])
      if (!this.#busy) void this.#runAll()
    })
  }

  async #runAll(): Promise<void> {
    this.#busy = true
    for (let next = this.#next(); next; next = this.#next()) await next()
    this.#busy = false
  }

  #next(): Work | null {
    for (const [owner, waiting] of this.#waiting) {
      const work = waiting.shift()!
      this.#waiting.delete(owner)
      if (waiting.length > 0) this.#waiting.set(owner, waiting)
      return work
    }
    return null
  }
}
