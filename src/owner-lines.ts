// What waits, in a line for each owner. Owners take turns, so that one who brings twenty delays another one by one at the most.

export class OwnerLines<T> {
  /** The next owner first. No line is empty. */
  readonly #lines = new Map<string, T[]>()
  #size = 0

  /** How many wait, of all owners. */
  get size(): number {
    return this.#size
  }

  has(owner: string): boolean {
    return this.#lines.has(owner)
  }

  add(owner: string, item: T): void {
    const line = this.#lines.get(owner)
    if (line) line.push(item)
    else this.#lines.set(owner, [item])
    this.#size++
  }

  /** Takes the first one of the next owner, who then comes behind all other owners; null where nothing waits. */
  take(): T | null {
    for (const [owner, line] of this.#lines) {
      const item = line.shift()!
      this.#lines.delete(owner)
      if (line.length > 0) this.#lines.set(owner, line)
      this.#size--
      return item
    }
    return null
  }
}
