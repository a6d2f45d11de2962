// What a vendor wants to hear again together with a call of a tool, such as what the model thought before it, and what OpenAI's form has no
// place for: kept for a while by the id of the call, since it comes back with the results. Without it the conversation goes on as well.
// Ids may be guessed, or be known to others: what was kept for one owner is given to no other one.

/** In characters, of all that is kept. */
const MAX_CACHED_CHARACTERS = 16_000_000

/** What is kept for one owner. */
export interface OwnerToolCallStates<Kept> {
  keep(id: string, what: Kept): void
  of(id: string): Kept | null
}

interface OwnerEntries<Kept> {
  /** By the id of the call, the oldest first. */
  readonly kept: Map<string, { readonly what: Kept; readonly size: number }>
  /**
   * Gives the oldest id, which is then dropped. One for good: a new one would look at the places of all that were dropped before, and of many thousands
   * each would take the longer.
   */
  readonly oldest: MapIterator<string>
  /** In characters. */
  size: number
}

export class ToolCallStateCache<Kept> {
  /** Nobody is here for whom nothing is kept. */
  readonly #owners = new Map<string, OwnerEntries<Kept>>()
  readonly #maxSize: number
  #size = 0

  constructor(most = MAX_CACHED_CHARACTERS) {
    this.#maxSize = most
  }

  /** Null: whose calls they are is not known, and nothing is kept. */
  forOwner(owner: string | null): OwnerToolCallStates<Kept> {
    if (owner === null) return { keep() {}, of: () => null }
    return {
      keep: (id, what) => this.#keep(owner, id, what),
      of: (id) => this.#owners.get(owner)?.kept.get(id)?.what ?? null,
    }
  }

  #keep(owner: string, id: string, what: Kept): void {
    this.#drop(owner, id)
    const size = id.length + JSON.stringify(what).length
    if (size > this.#maxSize) return
    const entries = this.#owners.get(owner) ?? createOwnerEntries<Kept>()
    this.#owners.set(owner, entries)
    entries.kept.set(id, { what, size })
    entries.size += size
    this.#size += size
    while (this.#size > this.#maxSize) this.#evictOldest(...this.#largestOwner())
  }

  #largestOwner(): [owner: string, entries: OwnerEntries<Kept>] {
    return [...this.#owners].reduce((most, one) => (one[1].size > most[1].size ? one : most))
  }

  /** Drops the oldest, until there is room, or half of an owner's is gone: another one may then have more. */
  #evictOldest(owner: string, entries: OwnerEntries<Kept>): void {
    const half = entries.size / 2
    while (entries.kept.size > 0 && this.#size > this.#maxSize && entries.size >= half)
      this.#drop(owner, entries.oldest.next().value!)
  }

  #drop(owner: string, id: string): void {
    const entries = this.#owners.get(owner)
    const size = entries?.kept.get(id)?.size
    if (!entries || size === undefined) return
    entries.kept.delete(id)
    entries.size -= size
    this.#size -= size
    if (entries.kept.size === 0) this.#owners.delete(owner)
  }
}

function createOwnerEntries<Kept>(): OwnerEntries<Kept> {
  const kept: OwnerEntries<Kept>['kept'] = new Map()
  return { kept, oldest: kept.keys(), size: 0 }
}
