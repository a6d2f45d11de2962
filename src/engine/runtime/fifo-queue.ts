// A queue for very many items: removing the first does not move the others.

/** The array is compacted once at least this many items, and half of it, were removed. */
const COMPACT_AFTER = 1024

export class FifoQueue<T> {
  #items: T[] = []
  /** Items before this index were removed. */
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  push(item: T): void {
    this.#items.push(item)
  }

  /** Removes and returns the first item; undefined if the queue is empty. */
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
