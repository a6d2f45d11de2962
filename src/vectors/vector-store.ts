// The vectors of one owner. They are written in small units, so that other owners get their turn, and searched in slices of a few
// milliseconds. Writing is idempotent, so that an interrupted firing may repeat it.

import { type OwnerScope, userShareKey } from '../db/owner-scope.ts'
import type { Store, Tx } from '../db/store.ts'
import type { VectorIndexTable } from '../db/tables/vectors.ts'
import * as rows from '../db/vectors.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import type {
  VectorAccess,
  VectorEntry,
  VectorFilter,
  VectorIndex,
  VectorMatch,
  VectorQuery,
} from '../engine/node-api/services/vectors.ts'
import { estimateMemory } from '../engine/node-api/values/measure.ts'
import { ServiceError } from '../errors.ts'
import type { Platform } from '../platform.ts'
import { type Steps, TimeSliceScheduler } from '../shared/time-slices.ts'
import { createEntryRow, type VectorEntryRow, validateIndexName, validateModelName } from './entry-validation.ts'
import { guardDimensions, guardIndexModel, limitReached, toVectorIndex } from './index-rules.ts'
import { IndexScan, isCurrentIndex } from './index-scan.ts'
import { compileMetadataFilter, type MetadataTest } from './metadata-filter.ts'
import { TopMatches } from './top-matches.ts'
import { cosineSimilarity, decodeVector, normalizeVector } from './vector-math.ts'

/** Per owner. */
const MOST_INDEXES = 1_000
/** Per index: so many are searched in a second or two. */
const MOST_ENTRIES = 500_000
/** For all entries of one owner: two gigabytes. */
const MOST_BYTES = 2 * 1024 ** 3

/** Limits of a unit that writes or removes entries: entries, and roughly their bytes. */
const WRITTEN_AT_ONCE = 200
const BYTES_AT_ONCE = 1_000_000

export interface VectorStoreOptions {
  readonly store: Store
  readonly platform: Pick<Platform, 'timestamp'>
  readonly most_entries?: number
  readonly most_bytes?: number
  /** The scheduler that searches and writes of all owners share. */
  readonly slices?: TimeSliceScheduler
}

/** An attempt to remove an entry, with the bytes of the entry; 0 if it did not exist any more. */
interface RemovalAttempt {
  readonly bytes: number
  readonly is_removed: boolean
}

export class VectorStore implements VectorAccess {
  readonly #store: Store
  readonly #platform: Pick<Platform, 'timestamp'>
  readonly #owner: OwnerScope
  readonly #limits: Required<Pick<VectorStoreOptions, 'most_entries' | 'most_bytes'>>
  readonly #slices: TimeSliceScheduler

  constructor(
    owner: OwnerScope,
    { store, platform, slices = new TimeSliceScheduler(), ...limits }: VectorStoreOptions,
  ) {
    this.#store = store
    this.#platform = platform
    this.#owner = owner
    this.#slices = slices
    this.#limits = { most_entries: MOST_ENTRIES, most_bytes: MOST_BYTES, ...limits }
  }

  async info(name: string): Promise<VectorIndex | null> {
    const row = this.#findIndex(validateIndexName(name))
    return row ? toVectorIndex(row) : null
  }

  async list(): Promise<VectorIndex[]> {
    return this.#store.read((tx) => rows.listVectorIndexes(tx, this.#owner)).map(toVectorIndex)
  }

  async put(name: string, entries: readonly VectorEntry[], model: string | null, signal: AbortSignal): Promise<void> {
    validateIndexName(name)
    validateModelName(model)
    for (let from = 0; from < entries.length; ) {
      signal.throwIfAborted()
      const some = await this.#slices.run(userShareKey(this.#owner), createRowsInSteps(entries, from))
      from += await this.#write((tx) => this.#put(tx, name, some, model))
    }
  }

  async search(query: VectorQuery): Promise<VectorMatch[]> {
    const { index, vector, model, top_k, min_score, filter, signal } = query
    signal.throwIfAborted()
    const row = this.#findIndex(validateIndexName(index))
    if (!row) throw new NodeError(`There is no vector index "${index}".`, 'index_not_found')
    guardIndexModel(row, model)
    guardDimensions(row, vector.length)
    const asked = normalizeVector(vector)
    const least = min_score ?? -1
    const nearest = new TopMatches(top_k, least)
    const meets = compileMetadataFilter(filter)
    const score = (kept: Uint8Array) => cosineSimilarity(asked, decodeVector(kept))
    const reading = this.#scan(row, signal)
    await reading.forEachEntry((one) => {
      if (meets(one.metadata)) nearest.offer(one.key, score(one.vector))
    })
    const keys = nearest.all().map(({ key }) => key)
    using counted = new MeteredMatches(query)
    // The current state is tested again, because another entry may have the key now.
    const matches = await reading.readEntries(keys, ({ id, vector: kept, text, metadata }): VectorMatch | null => {
      const now = score(kept)
      if (now < least || !meets(metadata)) return null
      return counted.add({ id, score: now, text, metadata: JSON.parse(metadata) })
    })
    return matches.sort((a, b) => b.score - a.score)
  }

  async remove(name: string, which: readonly string[] | VectorFilter | null, signal: AbortSignal): Promise<number> {
    const row = this.#findIndex(validateIndexName(name))
    if (!row) return 0
    if (which === null) return await this.#drop(row, signal)
    if (!Array.isArray(which))
      return await this.#removeMatching(row, compileMetadataFilter(which as VectorFilter), signal)
    const take = (tx: Tx, id: string): RemovalAttempt => {
      const [bytes] = rows.deleteVectorEntry(tx, row.key, { id })
      return { bytes: bytes ?? 0, is_removed: bytes !== undefined }
    }
    return await this.#removeEach(row, which as readonly string[], take, signal)
  }

  async #removeMatching(row: VectorIndexTable, meets: MetadataTest, signal: AbortSignal): Promise<number> {
    const met: number[] = []
    await this.#scan(row, signal).forEachEntry(({ key, metadata }) => {
      if (meets(metadata)) met.push(key)
    })
    // Another entry may have the key now, or the entry may have other metadata.
    const take = (tx: Tx, key: number): RemovalAttempt => {
      const now = rows.findVectorEntry(tx, row.key, key)
      const is_removed = now !== undefined && meets(now.metadata)
      if (is_removed) rows.deleteVectorEntry(tx, row.key, { key })
      return { bytes: now?.bytes ?? 0, is_removed }
    }
    return await this.#removeEach(row, met, take, signal)
  }

  async #removeEach<Which>(
    row: VectorIndexTable,
    all: readonly Which[],
    take: (tx: Tx, one: Which) => RemovalAttempt,
    signal: AbortSignal,
  ): Promise<number> {
    let removed = 0
    for (let from = 0, to = 0; from < all.length; from = to) {
      signal.throwIfAborted()
      removed += await this.#removeInUnit(row, (tx) => {
        const some = removeSome(all, from, (one) => take(tx, one))
        to = from + some.length
        return some.flatMap(({ bytes, is_removed }) => (is_removed ? [bytes] : []))
      })
      // The index was removed.
      if (to === from) break
    }
    return removed
  }

  #scan(index: VectorIndexTable, signal: AbortSignal): IndexScan {
    return new IndexScan({ store: this.#store, owner: this.#owner, index, signal, slices: this.#slices })
  }

  #findIndex(name: string): VectorIndexTable | undefined {
    return this.#store.read((tx) => rows.findVectorIndex(tx, this.#owner, name))
  }

  /** Returns how many entries it wrote: fewer if the replaced entries are large, because each of these is read whole. */
  #put(tx: Tx, name: string, entries: readonly VectorEntryRow[], model: string | null): number {
    const { length } = entries[0]!.vector
    const index = rows.findVectorIndex(tx, this.#owner, name) ?? this.#create(tx, name, length / 4, model)
    guardIndexModel(index, model)
    let { count, bytes } = index
    let [written, replaced] = [0, 0]
    for (const entry of entries) {
      if (replaced >= BYTES_AT_ONCE) break
      guardDimensions(index, entry.vector.length / 4)
      const before = rows.findVectorEntryBytes(tx, index.key, entry.id)
      rows.putVectorEntry(tx, { index_key: index.key, ...entry })
      if (before === undefined) count++
      bytes += entry.bytes - (before ?? 0)
      replaced += before ?? 0
      written++
    }
    if (count > this.#limits.most_entries)
      throw limitReached(`The index "${name}" would have more than`, this.#limits.most_entries, 'entries')
    const others = rows.measureVectorIndexes(tx, this.#owner).bytes - index.bytes
    if (bytes > index.bytes && others + bytes > this.#limits.most_bytes)
      throw limitReached('All of your vectors together would take more than', this.#limits.most_bytes, 'bytes')
    rows.updateVectorIndex(tx, {
      ...index,
      model: index.model ?? model,
      count,
      bytes,
      updated_at: this.#platform.timestamp(),
    })
    return written
  }

  #create(tx: Tx, name: string, dimensions: number, model: string | null): VectorIndexTable {
    if (rows.measureVectorIndexes(tx, this.#owner).indexes >= MOST_INDEXES)
      throw limitReached('You would have more than', MOST_INDEXES, 'vector indexes')
    return rows.insertVectorIndex(tx, this.#owner, { name, dimensions, model, created_at: this.#platform.timestamp() })
  }

  /** Removes the index and all of its entries. */
  async #drop(index: VectorIndexTable, signal: AbortSignal): Promise<number> {
    for (let removed = 0; ; ) {
      signal.throwIfAborted()
      const some = await this.#removeInUnit(index, (tx) => {
        const bytes = rows.deleteVectorEntries(tx, index.key, WRITTEN_AT_ONCE)
        if (bytes.length === 0) rows.deleteVectorIndex(tx, index.key)
        return bytes
      })
      removed += some
      if (some === 0) return removed
    }
  }

  /** @throws NodeError `unavailable` if the database accepts no writes now */
  async #write<T>(unit: (tx: Tx) => T): Promise<T> {
    try {
      return await this.#store.write(unit)
    } catch (cause) {
      if (!(cause instanceof ServiceError)) throw cause
      throw new NodeError('The server cannot store the vectors now. Run the workflow again later.', 'unavailable', {
        cause,
      })
    }
  }

  /** Removes entries in one unit, and updates the counts of their index. */
  #removeInUnit(index: VectorIndexTable, remove: (tx: Tx) => number[]): Promise<number> {
    return this.#write((tx) => {
      if (!isCurrentIndex(tx, this.#owner, index)) return 0
      const removed = remove(tx)
      const now = rows.findVectorIndex(tx, this.#owner, index.name)
      if (now && removed.length > 0) {
        const bytes = removed.reduce((sum, one) => sum - one, now.bytes)
        rows.updateVectorIndex(tx, {
          ...now,
          bytes,
          count: now.count - removed.length,
          updated_at: this.#platform.timestamp(),
        })
      }
      return removed.length
    })
  }
}

/** Reports the memory of search results until it is disposed. */
class MeteredMatches implements Disposable {
  readonly #query: VectorQuery
  #bytes = 0

  constructor(query: VectorQuery) {
    this.#query = query
  }

  add(match: VectorMatch): VectorMatch {
    this.#change(estimateMemory(match))
    return match
  }

  #change(bytes: number): void {
    this.#bytes += bytes
    this.#query.onBytesHeld?.(bytes)
  }

  [Symbol.dispose](): void {
    this.#change(-this.#bytes)
  }
}

/** The rows of the entries that are written in one unit, from a position on. @throws NodeError `bad_input`, `too_large` */
function* createRowsInSteps(entries: readonly VectorEntry[], from: number): Steps<VectorEntryRow[]> {
  const made: VectorEntryRow[] = []
  for (let bytes = 0; made.length < WRITTEN_AT_ONCE && bytes < BYTES_AT_ONCE; ) {
    const entry = entries[from + made.length]
    if (!entry) break
    const row = createEntryRow(entry)
    made.push(row)
    bytes += row.bytes
    yield
  }
  return made
}

/** The attempts for the entries that are removed in one unit, from a position on. */
function removeSome<Which>(
  all: readonly Which[],
  from: number,
  look: (one: Which) => RemovalAttempt,
): RemovalAttempt[] {
  const looked: RemovalAttempt[] = []
  for (let bytes = 0; from + looked.length < all.length && looked.length < WRITTEN_AT_ONCE && bytes < BYTES_AT_ONCE; ) {
    const one = look(all[from + looked.length]!)
    looked.push(one)
    bytes += one.bytes
  }
  return looked
}
