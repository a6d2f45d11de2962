// A line in which very many may wait: whoever is first leaves it without all others moving up.

/** How many that have left are kept at least before the list is cut, which happens once they are half of it. */
const COMPACT_AFTER = 1024

export class FifoQueue<T> {
  #items: T[] = []
  /** Those before it have left. */
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  push(item: T): void {
    this.#items.push(item)
  }

  /** Takes the first one out; undefined where there is none. */
  shift(): T | undefined {
    if (this.length === 0) return undefined
    const item = this.#items[this.#head++]
    if (this.length === 0) this.clear()
    else if (this.#head >= COMPACT_AFTER && this.#head * 2 >= this.#items.length) this.#compact()
    return item
  }

  clear(): void {
    this.#items = []
    this.#head = 0
  }

  #compact(): void {
    this.#items = this.#items.slice(this.#head)
    this.#head = 0
  }
}
