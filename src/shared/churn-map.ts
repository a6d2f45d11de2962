// A long-lived map whose members come and go by the thousand: jobs, feeds and other work under way.
//
// A `Map` moves to a new table once deleted members fill the old table. In V8 the old table keeps its members and points to the new table for
// iterators. Once such a table is in the old generation of the heap, all later tables and their members live until a major collection. A third of
// what short runs allocate outlived them that way. Here a table holds boxes, and the box of a deleted member is empty.

interface Box<V> {
  value: V | null
}

export class ChurnMap<K extends string | number, V extends object> {
  readonly #boxes = new Map<K, Box<V>>()

  get size(): number {
    return this.#boxes.size
  }

  get(key: K): V | undefined {
    return this.#boxes.get(key)?.value ?? undefined
  }

  has(key: K): boolean {
    return this.#boxes.has(key)
  }

  set(key: K, value: V): void {
    const box = this.#boxes.get(key)
    if (box) box.value = value
    else this.#boxes.set(key, { value })
  }

  delete(key: K): void {
    const box = this.#boxes.get(key)
    if (!box) return
    box.value = null
    this.#boxes.delete(key)
  }

  *values(): Generator<V, void, void> {
    for (const { value } of this.#boxes.values()) if (value !== null) yield value
  }
}
