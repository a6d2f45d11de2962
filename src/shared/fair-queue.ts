// What waits, in a line for each owner. Owners take turns, so that one who brings twenty delays another one by one at the most.

export class FairQueue<T> {
  /** The next owner first. No line is empty. */
  readonly #queues = new Map<string, T[]>()
  #size = 0

  /** How many wait, of all owners. */
  get size(): number {
    return this.#size
  }

  has(owner: string): boolean {
    return this.#queues.has(owner)
  }

  add(owner: string, item: T): void {
    const line = this.#queues.get(owner)
    if (line) line.push(item)
    else this.#queues.set(owner, [item])
    this.#size++
  }

  /** Takes the first one of the next owner, who then comes behind all other owners; null where nothing waits. */
  take(): T | null {
    for (const [owner, line] of this.#queues) {
      const item = line.shift()!
      this.#queues.delete(owner)
      if (line.length > 0) this.#queues.set(owner, line)
      this.#size--
      return item
    }
    return null
  }
}
