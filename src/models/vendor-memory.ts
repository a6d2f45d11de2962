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

interface Entry<Kept> {
  readonly id: string
  readonly what: Kept
  readonly size: number
  older: Entry<Kept> | null
  newer: Entry<Kept> | null
}

/**
 * What is kept for one owner. The oldest is dropped first, and found at once: a map finds its first key by looking at the places of all that were
 * deleted before it, so that of many thousands each would take the longer, the more were dropped.
 */
class Entries<Kept> {
  readonly #byId = new Map<string, Entry<Kept>>()
  #oldest: Entry<Kept> | null = null
  #newest: Entry<Kept> | null = null
  /** In characters. */
  size = 0

  get isEmpty(): boolean {
    return this.#oldest === null
  }

  get oldest(): string | null {
    return this.#oldest?.id ?? null
  }

  get(id: string): Kept | null {
    return this.#byId.get(id)?.what ?? null
  }

  /** As the newest. Nothing is kept under the id. */
  add(id: string, what: Kept, size: number): void {
    const entry: Entry<Kept> = { id, what, size, older: this.#newest, newer: null }
    if (this.#newest) this.#newest.newer = entry
    else this.#oldest = entry
    this.#newest = entry
    this.#byId.set(id, entry)
    this.size += size
  }

  /** How many characters are kept no longer. */
  drop(id: string): number {
    const entry = this.#byId.get(id)
    if (!entry) return 0
    const { older, newer, size } = entry
    if (older) older.newer = newer
    else this.#oldest = newer
    if (newer) newer.older = older
    else this.#newest = older
    // Whatever still refers to it for a while refers to no other.
    entry.older = null
    entry.newer = null
    this.#byId.delete(id)
    this.size -= size
    return size
  }
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
      of: (id) => this.#owners.get(owner)?.get(id) ?? null,
    }
  }

  #keep(owner: string, id: string, what: Kept): void {
    this.#drop(owner, id)
    const size = id.length + JSON.stringify(what).length
    if (size > this.#most) return
    const entries = this.#owners.get(owner) ?? new Entries<Kept>()
    this.#owners.set(owner, entries)
    entries.add(id, what, size)
    this.#size += size
    while (this.#size > this.#most) this.#shorten(...this.#largest())
  }

  #largest(): [owner: string, entries: Entries<Kept>] {
    return [...this.#owners].reduce((most, one) => (one[1].size > most[1].size ? one : most))
  }

  /** Drops the oldest, until there is room, or half of an owner's is gone: another one may then have more. */
  #shorten(owner: string, entries: Entries<Kept>): void {
    const half = entries.size / 2
    for (let { oldest } = entries; oldest !== null; { oldest } = entries) {
      if (this.#size <= this.#most || entries.size < half) return
      this.#drop(owner, oldest)
    }
  }

  #drop(owner: string, id: string): void {
    const entries = this.#owners.get(owner)
    if (!entries) return
    this.#size -= entries.drop(id)
    if (entries.isEmpty) this.#owners.delete(owner)
  }
}
