// One reading of an index, entry by entry, while others have their turns: it may be changed meanwhile, be removed, or be another one by now.
import { setImmediate } from 'node:timers/promises'
import type { VectorIndexTable } from '../db/schema.ts'
import type { Scope } from '../db/scope.ts'
import type { Store, Tx } from '../db/store.ts'
import * as rows from '../db/vectors.ts'

/** Entries that are fetched at once. */
const FETCHED_AT_ONCE = 200
/** After how many milliseconds others have their turn. */
export const SLICE_MS = 8

type Scanned = ReturnType<typeof rows.vectorPage>[number]
type Found = NonNullable<ReturnType<typeof rows.vectorEntry>>

export interface ReadingOptions {
  readonly store: Store
  readonly owner: Scope
  readonly index: VectorIndexTable
  readonly signal: AbortSignal
  readonly slice_ms: number
}

/** Whether it is there still. Keys of indexes that are gone are given again: to another owner's as well. */
export function isThere(tx: Tx, owner: Scope, { key, name, dimensions, created_at }: VectorIndexTable): boolean {
  const now = rows.vectorIndex(tx, owner, name)
  return now?.key === key && now.dimensions === dimensions && now.created_at === created_at
}

export class Reading {
  readonly #options: ReadingOptions
  #began = performance.now()

  constructor(options: ReadingOptions) {
    this.#options = options
  }

  /** Has each entry looked at, the oldest first. It ends early where the index is gone. @throws the signal's reason */
  async each(look: (entry: Scanned) => void): Promise<void> {
    const { key: index_key } = this.#options.index
    for (let after = 0; ; ) {
      const entries = this.#read((tx) => rows.vectorPage(tx, { index_key, after, limit: FETCHED_AT_ONCE })) ?? []
      for (const entry of entries) {
        look(entry)
        await this.#turn()
      }
      if (entries.length < FETCHED_AT_ONCE) return
      after = entries.at(-1)!.key
    }
  }

  /** What is told of these entries, in their order, as they are by now; those that are gone are left out. */
  async found<Told>(keys: readonly number[], tell: (entry: Found) => Told | null): Promise<Told[]> {
    const told: Told[] = []
    for (const key of keys) {
      const entry = this.#read((tx) => rows.vectorEntry(tx, this.#options.index.key, key))
      const one = entry ? tell(entry) : null
      if (one !== null) told.push(one)
      await this.#turn()
    }
    return told
  }

  /** Null where the index is gone. */
  #read<T>(read: (tx: Tx) => T): T | null {
    const { store, owner, index } = this.#options
    return store.read((tx) => (isThere(tx, owner, index) ? read(tx) : null))
  }

  /** Nothing, or a promise that is worth its wait: there are many entries. */
  #turn(): Promise<void> | undefined {
    if (performance.now() - this.#began < this.#options.slice_ms) return
    return this.#next()
  }

  async #next(): Promise<void> {
    await setImmediate()
    this.#options.signal.throwIfAborted()
    this.#began = performance.now()
  }
}
