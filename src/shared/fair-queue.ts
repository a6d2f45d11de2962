// A queue with a line for each owner. Owners take turns: an owner with twenty items delays another owner by one item at most.

export class FairQueue<T> {
  /** The next owner comes first. No line is empty. */
  readonly #queues = new Map<string, T[]>()
  #size = 0

  /** The number of waiting items of all owners. */
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

  /** Takes the first item of the next owner, who then moves behind all other owners. Null: the queue is empty. */
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
