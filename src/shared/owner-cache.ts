// OwnerCache keeps values for each owner apart: whether an owner finds a value says nothing of what others have cached. The number of all entries is
// limited, and the owners with the most entries make room.

/** What remains of a full cache that makes room: a pass reads all owners, so it makes room for many insertions. */
const KEPT_FRACTION = 0.9

export class OwnerCache<Value> {
  readonly #limit: number
  readonly #owners = new Map<string, Map<string, Value>>()
  #size = 0

  /** `limit`: entries of all owners together. */
  constructor(limit: number) {
    this.#limit = limit
  }

  get(owner: string, key: string): Value | undefined {
    return this.#owners.get(owner)?.get(key)
  }

  /** Adds or replaces a value. A full cache first removes the oldest values of the owners with the most entries. */
  set(owner: string, key: string, value: Value): void {
    const isKnown = this.#owners.get(owner)?.has(key) ?? false
    if (!isKnown && this.#size >= this.#limit) this.#shrink(Math.floor(this.#limit * KEPT_FRACTION))
    const values = this.#owners.get(owner) ?? new Map<string, Value>()
    this.#owners.set(owner, values)
    values.set(key, value)
    if (!isKnown) this.#size += 1
  }

  /** Removes entries until there are `size`. Of owners with equally many entries, the earliest give up one more. */
  #shrink(size: number): void {
    const { most, exceptions } = divideEqually(
      [...this.#owners.values()].map((values) => values.size),
      size,
    )
    let smaller = exceptions
    for (const [owner, values] of this.#owners) {
      if (values.size < most) continue
      removeOldest(values, smaller-- > 0 ? most - 1 : most)
      if (values.size === 0) this.#owners.delete(owner)
    }
    this.#size = size
  }
}

/**
 * Divides `total`, which is less than the sum of the sizes: each owner keeps at most `most` entries, and `exceptions` of those who had as many keep
 * one less.
 */
function divideEqually(sizes: number[], total: number): { most: number; exceptions: number } {
  sizes.sort((a, b) => a - b)
  let [rest, larger] = [total, sizes.length]
  for (const size of sizes) {
    // The smaller owners keep all. From here on, the others share the rest.
    if (size * larger > rest) break
    rest -= size
    larger -= 1
  }
  const most = Math.ceil(rest / larger)
  return { most, exceptions: most * larger - rest }
}

function removeOldest<Value>(values: Map<string, Value>, kept: number): void {
  for (const key of values.keys()) {
    if (values.size <= kept) return
    values.delete(key)
  }
}
