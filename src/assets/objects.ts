// Objects: rows of what callers put under keys of their own, with their bytes among the contents of users. Each workspace of a user has its own
// under the same key. What a key may be used for is said by keys.ts; what a condition is, by whoever asks.
import type { Readable } from 'node:stream'
import { contentInUse, ownedAsset, ownedAssetById } from '../db/assets.ts'
import { deleteExpiredObjects, deleteObject, ownedObject, putObject } from '../db/objects.ts'
import type { ObjectTable } from '../db/schema.ts'
import type { Scope } from '../db/scope.ts'
import type { Store, Tx } from '../db/store.ts'
import { ServiceError } from '../errors.ts'
import type { Platform } from '../platform.ts'
import { contentTypeOf } from './content-type.ts'
import { type Contents, GRACE_MS } from './contents.ts'
import { isTemporary } from './keys.ts'
import type { ByteRange, Received, Source } from './object-store.ts'
import { TEMPORARY_HOURS } from './temporary.ts'
import type { TemporaryQuota } from './temporary-quota.ts'
import { keptRow } from './temporary-rows.ts'
import { thumbnailed, thumbStorageKey } from './thumbs.ts'

export interface KeptObject {
  readonly row: ObjectTable
  readonly replaced: boolean
}

export interface GivenObject {
  /** What it throws breaks the object off, and nothing of it is kept. */
  readonly bytes: Source
  /** What is claimed; the bytes have the last word. */
  readonly content_type: string | null
  /** The digest that the bytes must have, or null for any. */
  readonly sha256: string | null
}

/** Throws where what is there now, if anything, is not what the caller expects. */
export type Judge = (present: ObjectTable | null) => void

/** Hears what comes and goes of temporary ones. */
type Counts = Pick<TemporaryQuota, 'kept' | 'freed' | 'left'>

export class StoredObjects {
  readonly #store: Store
  readonly #contents: Contents
  readonly #platform: Pick<Platform, 'now'>
  readonly #quota: Counts

  constructor(store: Store, contents: Contents, platform: Pick<Platform, 'now'>, quota: Counts) {
    this.#store = store
    this.#contents = contents
    this.#platform = platform
    this.#quota = quota
  }

  /** The object under a key, or null where there is none of this scope, or its time is over. */
  find(scope: Scope, storage_key: string): ObjectTable | null {
    return this.#alive(this.#store.read((tx) => ownedObject(tx, scope, storage_key)))
  }

  /** Bytes of an object, or null where it was replaced or removed meanwhile. */
  async read(object: ObjectTable, range: ByteRange): Promise<Readable | null> {
    const stream = await this.#contents.get(object.content_key, range)
    if (stream || this.find(object, object.storage_key)?.content_key !== object.content_key) return stream
    throw new Error(
      `the bytes of object ${object.storage_key} are missing from the store (${object.content_key}): is SVC_STORAGE_URL as it was?`,
    )
  }

  /**
   * Whether a key can be written, as far as is known before its bytes come.
   * @throws CONFLICT for a key of an asset, and what `judge` throws
   */
  check(scope: Scope, storage_key: string, judge: Judge): void {
    this.#store.read((tx) => this.#judged(tx, scope, storage_key, judge))
  }

  /**
   * Keeps an object under a key that the user may use so, in the place of what was there; `replaced` says whether there was anything. What is there
   * is judged in the step that writes it.
   * @throws as `check`, INVALID_REQUEST for another digest, what the bytes throw, and what the store does: no room, no access
   */
  async put(scope: Scope, storage_key: string, given: GivenObject, judge: Judge): Promise<KeptObject> {
    using received = await this.#contents.receive(given.bytes)
    if (given.sha256 !== null && given.sha256 !== received.sha256) throw anotherDigest()
    // Bytes without a row stay for an hour: there are none where this much is clear.
    this.check(scope, storage_key, judge)
    const content_key = this.#contents.settle(scope.user_id, received)
    const content_type = contentTypeOf(received.head, given.content_type)
    const stored = await this.#store.write((tx) => {
      const before = this.#judged(tx, scope, storage_key, judge)
      const replaced = this.#alive(before)
      const row = this.#row(scope, storage_key, { content_key, content_type }, received, replaced)
      putObject(tx, row)
      return { row, replaced, left: this.#unneeded(tx, before) }
    })
    const { row, replaced, left } = stored
    this.#count(replaced, row)
    await this.#discard(left)
    return { row, replaced: replaced !== null }
  }

  /**
   * Removes an object, and its bytes where nothing else needs them; where there is none, nothing.
   * @throws as `check`
   */
  async remove(scope: Scope, storage_key: string, judge: Judge): Promise<void> {
    const { removed, left } = await this.#store.write((tx) => {
      const before = this.#judged(tx, scope, storage_key, judge)
      if (before) deleteObject(tx, scope, storage_key)
      return { removed: before, left: this.#unneeded(tx, before) }
    })
    this.#count(this.#alive(removed), null)
    await this.#discard(left)
  }

  /** What was under a key, where nothing else needs its bytes. */
  #unneeded(tx: Tx, before: ObjectTable | undefined): ObjectTable | null {
    return before && !contentInUse(tx, before.content_key) ? before : null
  }

  async #discard(left: ObjectTable | null): Promise<void> {
    if (!left) return
    const { user_id, size, updated_at, expires_at } = left
    if (expires_at !== null) this.#quota.left(user_id, size, Date.parse(updated_at) + GRACE_MS)
    await this.#contents.discard([left.content_key])
  }

  #count(gone: ObjectTable | null, come: ObjectTable | null): void {
    if (gone && gone.expires_at !== null) this.#quota.freed(gone.user_id, keptRow(gone))
    if (come && come.expires_at !== null) this.#quota.kept(come.user_id, keptRow(come))
  }

  /** Removes what is past its time, at most `limit` at once, until nothing is left of it. Gives how many it removed. */
  async sweep(limit: number, stopping: AbortSignal): Promise<number> {
    for (let sum = 0; ; ) {
      const now = this.#now()
      const removed = await this.#store.write((tx) => deleteExpiredObjects(tx, now, limit))
      await this.#contents.discard(removed)
      sum += removed.length
      if (removed.length < limit || stopping.aborted) return sum
    }
  }

  /** The row as it is, its time over or not. */
  #judged(tx: Tx, scope: Scope, storage_key: string, judge: Judge): ObjectTable | undefined {
    if (isOfAsset(tx, scope, storage_key)) throw new ServiceError('CONFLICT', { message: OF_ASSET })
    const row = ownedObject(tx, scope, storage_key)
    judge(this.#alive(row))
    return row
  }

  #alive(row: ObjectTable | undefined): ObjectTable | null {
    return row === undefined || (row.expires_at !== null && row.expires_at <= this.#now()) ? null : row
  }

  #row(
    { user_id, workspace_id }: Scope,
    storage_key: string,
    content: Pick<ObjectTable, 'content_key' | 'content_type'>,
    { size, sha256 }: Received,
    replaced: ObjectTable | null,
  ): ObjectTable {
    const now = this.#now()
    const expires_at = isTemporary(storage_key) ? this.#now(TEMPORARY_HOURS) : null
    const times = { expires_at, created_at: replaced?.created_at ?? now, updated_at: now }
    return { storage_key, user_id, workspace_id, ...content, size, sha256, ...times }
  }

  #now(hours = 0): string {
    return new Date(this.#platform.now() + hours * 3_600_000).toISOString()
  }
}

const OF_ASSET = 'The key is that of an asset, whose bytes never change: it is replaced and deleted as an asset.'

/** Whether a key is served for an asset of the scope: for its bytes, or for its small picture. */
function isOfAsset(tx: Tx, scope: Scope, storage_key: string): boolean {
  if (ownedAsset(tx, scope, storage_key)) return true
  const id = thumbnailed(storage_key)
  const asset = id === null ? undefined : ownedAssetById(tx, scope, id)
  return asset !== undefined && asset.thumb_key !== null && thumbStorageKey(asset) === storage_key
}

function anotherDigest(): ServiceError {
  const message = 'is not the digest of the body'
  const path = '/headers/x-checksum-sha256'
  return new ServiceError('INVALID_REQUEST', { message: `${path}: ${message}`, problems: [{ path, message }] })
}
