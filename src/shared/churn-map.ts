// A map that lives long and whose members come and go all the time: jobs, feeds, whatever is under way.
//
// A `Map` moves to a new table whenever deleted members have filled the old one. In V8 the old table keeps its members and points to the
// new one, so that an iterator finds its way. Once one such table has reached the old generation of the heap, every later one is kept with
// all that ever stood in it, until the old generation is cleaned: a third of what short runs allocate outlived them that way. Here a table
// holds boxes, and the box of a member that is gone is empty.

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
