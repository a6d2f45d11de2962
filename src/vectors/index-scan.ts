// Scans an index entry by entry in time slices. Meanwhile the index may change, be removed, or be replaced by another one.

import { type OwnerScope, userShareKey } from '../db/owner-scope.ts'
import type { Store, Tx } from '../db/store.ts'
import type { VectorIndexTable } from '../db/tables/vectors.ts'
import * as rows from '../db/vectors.ts'
import type { Steps, TimeSliceScheduler } from '../shared/time-slices.ts'

/** The most entries that are fetched at once. */
const FETCHED_AT_ONCE = 200
/** After so many fetches, other work of the same owner has its turn. */
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

/** Whether the index still exists. Keys of removed indexes are reused, even for another owner. */
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

  /** Visits each entry, the oldest first. The scan ends early if the index is removed. @throws the signal's reason */
  async forEachEntry(visit: (entry: ScannedEntry) => void): Promise<void> {
    for (let after: number | null = 0; after !== null; ) after = await this.#runInSlices(this.#scanSteps(after, visit))
  }

  /** Converts the current state of these entries, in their order. Removed entries are skipped. @throws the signal's reason */
  readEntries<Result>(keys: readonly number[], convert: (entry: StoredEntry) => Result | null): Promise<Result[]> {
    return this.#runInSlices(this.#readSteps(keys, convert))
  }

  /** Visits some entries. Returns the key of the last one if there may be more, else null. */
  *#scanSteps(after: number, visit: (entry: ScannedEntry) => void): Steps<number | null> {
    const page = { index_key: this.#options.index.key, limit: FETCHED_AT_ONCE }
    let last = after
    for (let fetches = 0; fetches < FETCHES; fetches++) {
      const entries = this.#read((tx) => rows.readVectorPage(tx, { ...page, after: last })) ?? []
      for (const entry of entries) {
        visit(entry)
        yield
      }
      if (entries.length === 0) return null
      last = entries.at(-1)!.key
    }
    return last
  }

  *#readSteps<Result>(keys: readonly number[], convert: (entry: StoredEntry) => Result | null): Steps<Result[]> {
    const results: Result[] = []
    const { index, signal } = this.#options
    for (const key of keys) {
      // If too much was found, the run is aborted.
      signal.throwIfAborted()
      const entry = this.#read((tx) => rows.findVectorEntry(tx, index.key, key))
      const result = entry ? convert(entry) : null
      if (result !== null) results.push(result)
      yield
    }
    return results
  }

  /** Null if the index is removed. */
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
