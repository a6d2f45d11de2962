// One reading of an index, entry by entry, while others have their turns: it may be changed meanwhile, be removed, or be another one by now.

import { type OwnerScope, userShareKey } from '../db/owner-scope.ts'
import type { VectorIndexTable } from '../db/schema.ts'
import type { Store, Tx } from '../db/store.ts'
import * as rows from '../db/vectors.ts'
import type { Steps, TimeSliceScheduler } from '../shared/time-slices.ts'

/** Entries that are fetched at once, at most. */
const FETCHED_AT_ONCE = 200
/** After so many fetches other work of the same owner has its turn. */
const FETCHES = 20

type ScannedEntry = ReturnType<typeof rows.readVectorPage>[number]
type StoredEntry = NonNullable<ReturnType<typeof rows.findVectorEntry>>

export interface IndexScanOptions {
  readonly store: Store
  readonly owner: OwnerScope
  readonly index: VectorIndexTable
  readonly signal: AbortSignal
  readonly slices: TimeSliceScheduler
}

/** Whether it is there still. Keys of indexes that are gone are given again: to another owner's as well. */
export function isCurrentIndex(
  tx: Tx,
  owner: OwnerScope,
  { key, name, dimensions, created_at }: VectorIndexTable,
): boolean {
  const now = rows.findVectorIndex(tx, owner, name)
  return now?.key === key && now.dimensions === dimensions && now.created_at === created_at
}

export class IndexScan {
  readonly #options: IndexScanOptions

  constructor(options: IndexScanOptions) {
    this.#options = options
  }

  /** Has each entry looked at, the oldest first. It ends early where the index is gone. @throws the signal's reason */
  async forEachEntry(look: (entry: ScannedEntry) => void): Promise<void> {
    for (let after: number | null = 0; after !== null; ) after = await this.#runInSlices(this.#scanSteps(after, look))
  }

  /** What is told of these entries, in their order, as they are by now; those that are gone are left out. @throws the signal's reason */
  readEntries<Told>(keys: readonly number[], tell: (entry: StoredEntry) => Told | null): Promise<Told[]> {
    return this.#runInSlices(this.#readSteps(keys, tell))
  }

  /** Looks at some entries; the key of the last one where there may be more. */
  *#scanSteps(after: number, look: (entry: ScannedEntry) => void): Steps<number | null> {
    const page = { index_key: this.#options.index.key, limit: FETCHED_AT_ONCE }
    let last = after
    for (let fetches = 0; fetches < FETCHES; fetches++) {
      const entries = this.#read((tx) => rows.readVectorPage(tx, { ...page, after: last })) ?? []
      for (const entry of entries) {
        look(entry)
        yield
      }
      if (entries.length === 0) return null
      last = entries.at(-1)!.key
    }
    return last
  }

  *#readSteps<Told>(keys: readonly number[], tell: (entry: StoredEntry) => Told | null): Steps<Told[]> {
    const told: Told[] = []
    const { index, signal } = this.#options
    for (const key of keys) {
      // Where too much was found, the run ends.
      signal.throwIfAborted()
      const entry = this.#read((tx) => rows.findVectorEntry(tx, index.key, key))
      const one = entry ? tell(entry) : null
      if (one !== null) told.push(one)
      yield
    }
    return told
  }

  /** Null where the index is gone. */
  #read<T>(read: (tx: Tx) => T): T | null {
    const { store, owner, index } = this.#options
    return store.read((tx) => (isCurrentIndex(tx, owner, index) ? read(tx) : null))
  }

  async #runInSlices<T>(steps: Steps<T>): Promise<T> {
    const { slices, owner, signal } = this.#options
    const done = await slices.run(userShareKey(owner), steps)
    signal.throwIfAborted()
    return done
  }
}
