// BlobStore keeps the bytes of users in an object store, each content of a user once. Rows of assets and objects refer to them. Bytes are
// on disk before such a row is committed, and are removed only when no row needs them. A crash in between leaves an object without a row,
// which the sweep removes.
import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { isBlobInUse } from '../../db/assets/rows.ts'
import type { Store } from '../../db/store.ts'
import { contentKey } from '../storage-keys.ts'
import { removeEach } from './bulk-removal.ts'
import type { ByteRange, ByteSource, ObjectStore, StagedObject } from './object-store.ts'

export interface SweepResult {
  /** Number of objects that the sweep examined. */
  readonly examined: number
  readonly removed: number
  /** Whether the sweep reached the end of the store. Then the next sweep starts from the beginning. */
  readonly ended: boolean
}

/** The sweep keeps bytes without a row for this long, because a row may be about to be committed. */
export const UNREFERENCED_GRACE_MS = 3_600_000
/** Number of blobs that are examined before other work gets its turn. */
const REMOVALS_PER_TURN = 32

export class BlobStore {
  readonly #store: Store
  readonly #objects: ObjectStore
  readonly #now: () => number
  #sweepCursor: string | null = null

  /** `objects` contains only blobs. `now` returns milliseconds since the epoch. */
  constructor(store: Store, objects: ObjectStore, now: () => number) {
    this.#store = store
    this.#objects = objects
    this.#now = now
  }

  /**
   * Reads the source to its end and stores the bytes on disk, without a key yet. The caller always disposes of the result, which removes
   * bytes that were not committed.
   * @throws what the source throws, and what the store throws: no room, no access
   */
  receive(source: ByteSource): Promise<StagedObject> {
    return this.#objects.receive(source)
  }

  /** Commits staged bytes as content of a user and returns their key. A row that needs the key has to be committed within an hour. */
  commit(user_id: string, received: StagedObject): string {
    const key = contentKey(user_id, received.sha256)
    received.commit(key)
    return key
  }

  /** Does what `receive` and `commit` do, synchronously. */
  putSync(content_key: string, bytes: Uint8Array): void {
    this.#objects.putSync(content_key, bytes)
  }

  /** Returns the bytes of a blob, or null if the store does not have it. The caller ends or destroys the stream. */
  get(content_key: string, range: ByteRange): Promise<Readable | null> {
    return this.#objects.get(content_key, range)
  }

  /**
   * Removes blobs that no row needs, and resolves to their number. Blobs that were put within the last hour stay for the sweep. So do blobs
   * that cannot be removed now, because the rows that named them are already deleted.
   */
  async discard(content_keys: Iterable<string>): Promise<number> {
    let removed = 0
    let examined = 0
    for (const key of new Set(content_keys)) {
      if (await this.#removeIfUnused(key).catch(() => false)) removed += 1
      // A folder may have held very many blobs, and other requests wait meanwhile.
      examined += 1
      if (examined % REMOVALS_PER_TURN === 0) await setImmediate()
    }
    return removed
  }

  /**
   * Removes blobs without a row that are older than an hour, among the next `limit` objects of the store.
   * @throws the first error of the store, after all objects were examined
   */
  async sweepUnreferenced(limit: number): Promise<SweepResult> {
    const keys = await this.#objects.list(this.#sweepCursor, limit)
    const ended = keys.length < limit
    this.#sweepCursor = ended ? null : keys.at(-1)!
    const removed = await removeEach(keys, (key) => this.#removeIfUnused(key))
    return { examined: keys.length, removed, ended }
  }

  async #removeIfUnused(content_key: string): Promise<boolean> {
    // Nothing else runs between this check and the removal, so that no request can put the same bytes again in between.
    const needed = this.#store.read((tx) => isBlobInUse(tx, content_key))
    return !needed && (await this.#objects.delete(content_key, this.#now() - UNREFERENCED_GRACE_MS))
  }
}
