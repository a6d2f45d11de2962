// The bytes of users in a store of objects, each content of a user once. Rows of assets and of objects are their references: bytes are on disk
// before such a row is committed, and go only when no row needs them. What a crash leaves behind between the two is an object without a row,
// which the sweep removes.
import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { isBlobInUse } from '../../db/assets/rows.ts'
import type { Store } from '../../db/store.ts'
import { contentKey } from '../storage-keys.ts'
import { removeEach } from './bulk-removal.ts'
import type { ByteRange, ByteSource, ObjectStore, StagedObject } from './object-store.ts'

export interface SweepResult {
  /** Objects looked at. */
  readonly examined: number
  readonly removed: number
  /** Whether this was the end of the store: the next sweep begins anew. */
  readonly ended: boolean
}

/** Bytes without a row are kept for so long: somebody may be about to commit one. */
export const UNREFERENCED_GRACE_MS = 3_600_000
/** Contents that are looked at before others get their turn. */
const REMOVALS_PER_TURN = 32

export class BlobStore {
  readonly #store: Store
  readonly #objects: ObjectStore
  readonly #now: () => number
  #sweepCursor: string | null = null

  /** `objects` holds nothing else. `now` gives milliseconds since the epoch. */
  constructor(store: Store, objects: ObjectStore, now: () => number) {
    this.#store = store
    this.#objects = objects
    this.#now = now
  }

  /**
   * Reads bytes to their end and has them on disk, without a key yet. Dispose of it, whatever came of it: what was not settled is removed.
   * @throws what the source throws, and what the store does: no room, no access
   */
  receive(source: ByteSource): Promise<StagedObject> {
    return this.#objects.receive(source)
  }

  /** Keeps what was received as content of a user, and gives its key. A row that needs it has to be committed within the hour. */
  commit(user_id: string, received: StagedObject): string {
    const key = contentKey(user_id, received.sha256)
    received.commit(key)
    return key
  }

  /** As `receive` and `settle`, at once. */
  putSync(content_key: string, bytes: Uint8Array): void {
    this.#objects.putSync(content_key, bytes)
  }

  /** The bytes of a content, or null where they are not in the store. Whoever gets a stream ends or destroys it. */
  get(content_key: string, range: ByteRange): Promise<Readable | null> {
    return this.#objects.get(content_key, range)
  }

  /**
   * Removes bytes that nothing needs any more. Those that were put within the hour stay for the sweep, and so does what cannot be removed now: the
   * rows that named them are gone already. Settles to how many were removed.
   */
  async discard(content_keys: Iterable<string>): Promise<number> {
    let removed = 0
    let looked = 0
    for (const key of new Set(content_keys)) {
      if (await this.#removeIfUnused(key).catch(() => false)) removed += 1
      // A folder may have held very many, and others wait for their answers.
      looked += 1
      if (looked % REMOVALS_PER_TURN === 0) await setImmediate()
    }
    return removed
  }

  /** Removes bytes without a row that are older than an hour, of the next `limit` objects of the store. @throws what the store does, at the first one when all were looked at */
  async sweepUnreferenced(limit: number): Promise<SweepResult> {
    const keys = await this.#objects.list(this.#sweepCursor, limit)
    const ended = keys.length < limit
    this.#sweepCursor = ended ? null : keys.at(-1)!
    const removed = await removeEach(keys, (key) => this.#removeIfUnused(key))
    return { examined: keys.length, removed, ended }
  }

  async #removeIfUnused(content_key: string): Promise<boolean> {
    // From here to the removal nothing else runs: nobody can put the same bytes again in between.
    const needed = this.#store.read((tx) => isBlobInUse(tx, content_key))
    return !needed && (await this.#objects.delete(content_key, this.#now() - UNREFERENCED_GRACE_MS))
  }
}
