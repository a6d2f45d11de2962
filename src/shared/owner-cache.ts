// OwnerCache keeps values for each owner apart: whether an owner finds a value says nothing of what others have cached. The number of all entries is
// limited, and the owner with the most entries makes room.

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

  /** Adds or replaces a value. Where there is no room, the oldest value of the owner with the most entries is removed. */
  set(owner: string, key: string, value: Value): void {
    const values = this.#owners.get(owner)
    if (!values?.has(key)) {
      if (this.#size >= this.#limit) this.#removeOldest(this.#findLargest(owner))
      this.#size += 1
    }
    const kept = this.#owners.get(owner) ?? new Map<string, Value>()
    this.#owners.set(owner, kept)
    kept.set(key, value)
  }

  /** The owner with the most entries; the one who adds an entry where several have as many. */
  #findLargest(adding: string): string {
    let largest = adding
    let most = this.#owners.get(adding)?.size ?? 0
    for (const [owner, { size }] of this.#owners) if (size > most) [largest, most] = [owner, size]
    return largest
  }

  #removeOldest(owner: string): void {
    const values = this.#owners.get(owner)!
    values.delete(values.keys().next().value!)
    if (values.size === 0) this.#owners.delete(owner)
    this.#size -= 1
  }
}
