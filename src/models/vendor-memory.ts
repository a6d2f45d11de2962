// What a vendor wants to hear again together with a call of a tool, such as what the model thought before it, and what OpenAI's form has no
// place for: kept for a while by the id of the call, since it comes back with the results. Without it the conversation goes on as well.
// Ids may be guessed, or be known to others: what was kept for one owner is given to no other one.

/** In characters, of all that is kept. */
const MOST = 16_000_000

/** What is kept for one owner. */
export interface OwnCalls<Kept> {
  keep(id: string, what: Kept): void
  of(id: string): Kept | null
}

interface Entries<Kept> {
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

export class CallMemory<Kept> {
  /** Nobody is here for whom nothing is kept. */
  readonly #owners = new Map<string, Entries<Kept>>()
  readonly #most: number
  #size = 0

  constructor(most = MOST) {
    this.#most = most
  }

  /** Null: whose calls they are is not known, and nothing is kept. */
  for(owner: string | null): OwnCalls<Kept> {
    if (owner === null) return { keep() {}, of: () => null }
    return {
      keep: (id, what) => this.#keep(owner, id, what),
      of: (id) => this.#owners.get(owner)?.kept.get(id)?.what ?? null,
    }
  }

  #keep(owner: string, id: string, what: Kept): void {
    this.#drop(owner, id)
    const size = id.length + JSON.stringify(what).length
    if (size > this.#most) return
    const entries = this.#owners.get(owner) ?? noEntries<Kept>()
    this.#owners.set(owner, entries)
    entries.kept.set(id, { what, size })
    entries.size += size
    this.#size += size
    while (this.#size > this.#most) this.#shorten(...this.#largest())
  }

  #largest(): [owner: string, entries: Entries<Kept>] {
    return [...this.#owners].reduce((most, one) => (one[1].size > most[1].size ? one : most))
  }

  /** Drops the oldest, until there is room, or half of an owner's is gone: another one may then have more. */
  #shorten(owner: string, entries: Entries<Kept>): void {
    const half = entries.size / 2
    while (entries.kept.size > 0 && this.#size > this.#most && entries.size >= half)
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

function noEntries<Kept>(): Entries<Kept> {
  const kept: Entries<Kept>['kept'] = new Map()
  return { kept, oldest: kept.keys(), size: 0 }
}
