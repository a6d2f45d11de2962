// Caches the state that a vendor wants back with a tool call and OpenAI's form cannot carry, such as the thinking before the call. The key is the
// call's id, which comes back with the results. A conversation also works without the state.
// The cache is separate for each owner, since ids may be guessed or known to other users.

/** In characters, of all entries. */
const MAX_CACHED_CHARACTERS = 16_000_000

/** The cache of one owner. */
export interface OwnerToolCallStates<Kept> {
  keep(id: string, what: Kept): void
  of(id: string): Kept | null
}

interface OwnerEntries<Kept> {
  /** By the id of the call, the oldest first. */
  readonly kept: Map<string, { readonly what: Kept; readonly size: number }>
  /**
   * Gives the oldest id, which is then dropped. The iterator is kept, since a new one would walk over all places that were dropped before:
   * with many thousands of them each step would take longer.
   */
  readonly oldest: MapIterator<string>
  /** In characters. */
  size: number
}

export class ToolCallStateCache<Kept> {
  /** Only owners with entries. */
  readonly #owners = new Map<string, OwnerEntries<Kept>>()
  readonly #maxSize: number
  #size = 0

  constructor(most = MAX_CACHED_CHARACTERS) {
    this.#maxSize = most
  }

  /** Null: the owner is unknown, and no state is kept. */
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

  /** Drops the oldest entries until the limit holds, or half of the owner's entries are gone: then another owner may have more. */
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
