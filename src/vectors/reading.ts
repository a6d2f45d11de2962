// One reading of an index, entry by entry, while others have their turns: it may be changed meanwhile, be removed, or be another one by now.
import type { VectorIndexTable } from '../db/schema.ts'
import { type Scope, userKey } from '../db/scope.ts'
import type { Store, Tx } from '../db/store.ts'
import * as rows from '../db/vectors.ts'
import type { Steps, TimeSlices } from '../time-slices.ts'

/** Entries that are fetched at once, at most. */
const FETCHED_AT_ONCE = 200
/** After so many fetches other work of the same owner has its turn. */
const FETCHES = 20

type Scanned = ReturnType<typeof rows.vectorPage>[number]
type Found = NonNullable<ReturnType<typeof rows.vectorEntry>>

export interface ReadingOptions {
  readonly store: Store
  readonly owner: Scope
  readonly index: VectorIndexTable
  readonly signal: AbortSignal
  readonly slices: TimeSlices
}

/** Whether it is there still. Keys of indexes that are gone are given again: to another owner's as well. */
export function isThere(tx: Tx, owner: Scope, { key, name, dimensions, created_at }: VectorIndexTable): boolean {
  const now = rows.vectorIndex(tx, owner, name)
  return now?.key === key && now.dimensions === dimensions && now.created_at === created_at
}

export class Reading {
  readonly #options: ReadingOptions

  constructor(options: ReadingOptions) {
    this.#options = options
  }

  /** Has each entry looked at, the oldest first. It ends early where the index is gone. @throws the signal's reason */
  async each(look: (entry: Scanned) => void): Promise<void> {
    for (let after: number | null = 0; after !== null; ) after = await this.#inTurns(this.#some(after, look))
  }

  /** What is told of these entries, in their order, as they are by now; those that are gone are left out. @throws the signal's reason */
  found<Told>(keys: readonly number[], tell: (entry: Found) => Told | null): Promise<Told[]> {
    return this.#inTurns(this.#told(keys, tell))
  }

  /** Looks at some entries; the key of the last one where there may be more. */
  *#some(after: number, look: (entry: Scanned) => void): Steps<number | null> {
    const page = { index_key: this.#options.index.key, limit: FETCHED_AT_ONCE }
    let last = after
    for (let fetches = 0; fetches < FETCHES; fetches++) {
      const entries = this.#read((tx) => rows.vectorPage(tx, { ...page, after: last })) ?? []
      for (const entry of entries) {
        look(entry)
        yield
      }
      if (entries.length === 0) return null
      last = entries.at(-1)!.key
    }
    return last
  }

  *#told<Told>(keys: readonly number[], tell: (entry: Found) => Told | null): Steps<Told[]> {
    const told: Told[] = []
    const { index, signal } = this.#options
    for (const key of keys) {
      // Where too much was found, the run ends.
      signal.throwIfAborted()
      const entry = this.#read((tx) => rows.vectorEntry(tx, index.key, key))
      const one = entry ? tell(entry) : null
      if (one !== null) told.push(one)
      yield
    }
    return told
  }

  /** Null where the index is gone. */
  #read<T>(read: (tx: Tx) => T): T | null {
    const { store, owner, index } = this.#options
    return store.read((tx) => (isThere(tx, owner, index) ? read(tx) : null))
  }

  async #inTurns<T>(steps: Steps<T>): Promise<T> {
    const { slices, owner, signal } = this.#options
    const done = await slices.run(userKey(owner), steps)
    signal.throwIfAborted()
    return done
  }
}
