// What is made of an item for those who follow it, made once where many do.

/** Remembers what was made of an item from the second time on: what only one asks for is not kept. It lives as long as its item. */
export class DerivedValueCache<Item extends object, Made extends object | string> {
  /** Null: it was made once, and not kept. */
  readonly #made = new WeakMap<Item, Made | null>()
  readonly #make: (item: Item) => Made

  constructor(make: (item: Item) => Made) {
    this.#make = make
  }

  get(item: Item): Made {
    const known = this.#made.get(item)
    if (known) return known
    const made = this.#make(item)
    this.#made.set(item, known === null ? made : null)
    return made
  }
}
