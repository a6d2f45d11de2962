// Caches values that are derived from a feed item, so that many followers share them.

/** Keeps a derived value from the second request on: a value for a single follower is not kept. It lives as long as its item. */
export class DerivedValueCache<Item extends object, Made extends object | string> {
  /** Null: the value was made once, and not kept. */
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
