// Objects: rows of what callers put under keys of their own, with their bytes among the contents of users. Each workspace of a user has its own
// under the same key. What a key may be used for is said by keys.ts; what a condition is, by whoever asks.
import type { Readable } from 'node:stream'
import { deleteExpiredObjects, deleteObject, findOwnedObject, putObject } from '../db/assets/objects.ts'
import { findOwnedAsset, findOwnedAssetByStorageKey, isBlobInUse } from '../db/assets/rows.ts'
import type { OwnerScope } from '../db/owner-scope.ts'
import type { ObjectTable } from '../db/schema.ts'
import type { Store, Tx } from '../db/store.ts'
import { ServiceError } from '../errors.ts'
import type { Platform } from '../platform.ts'
import { detectContentType } from './content-type.ts'
import { parseThumbnailKey, thumbnailStorageKey } from './previews/thumbnail-keys.ts'
import { isTemporaryKey } from './storage-keys.ts'
import { type BlobStore, UNREFERENCED_GRACE_MS } from './stores/blob-store.ts'
import type { ByteRange, ByteSource, StagedObject } from './stores/object-store.ts'
import { rowToQuotaEntry } from './temporary/object-usage.ts'
import type { TemporaryQuota } from './temporary/quota.ts'
import { TEMPORARY_HOURS } from './temporary/store.ts'

export interface PutObjectResult {
  readonly row: ObjectTable
  readonly replaced: boolean
}

export interface ObjectUpload {
  /** What it throws breaks the object off, and nothing of it is kept. */
  readonly bytes: ByteSource
  /** What is claimed; the bytes have the last word. */
  readonly content_type: string | null
  /** The digest that the bytes must have, or null for any. */
  readonly sha256: string | null
}

/** Throws where what is there now, if anything, is not what the caller expects. */
export type ObjectPrecondition = (present: ObjectTable | null) => void

/** Hears what comes and goes of temporary ones. */
type QuotaCounter = Pick<TemporaryQuota, 'addFile' | 'removeFile' | 'addLingering'>

export class StoredObjectService {
  readonly #store: Store
  readonly #contents: BlobStore
  readonly #platform: Pick<Platform, 'now'>
  readonly #quota: QuotaCounter

  constructor(store: Store, contents: BlobStore, platform: Pick<Platform, 'now'>, quota: QuotaCounter) {
    this.#store = store
    this.#contents = contents
    this.#platform = platform
    this.#quota = quota
  }

  /** The object under a key, or null where there is none of this scope, or its time is over. */
  find(scope: OwnerScope, storage_key: string): ObjectTable | null {
    return this.#unlessExpired(this.#store.read((tx) => findOwnedObject(tx, scope, storage_key)))
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
  check(scope: OwnerScope, storage_key: string, judge: ObjectPrecondition): void {
    this.#store.read((tx) => this.#requireWritable(tx, scope, storage_key, judge))
  }

  /**
   * Keeps an object under a key that the user may use so, in the place of what was there; `replaced` says whether there was anything. What is there
   * is judged in the step that writes it.
   * @throws as `check`, INVALID_REQUEST for another digest, what the bytes throw, and what the store does: no room, no access
   */
  async put(
    scope: OwnerScope,
    storage_key: string,
    given: ObjectUpload,
    judge: ObjectPrecondition,
  ): Promise<PutObjectResult> {
    using received = await this.#contents.receive(given.bytes)
    if (given.sha256 !== null && given.sha256 !== received.sha256) throw digestMismatchError()
    // Bytes without a row stay for an hour: there are none where this much is clear.
    this.check(scope, storage_key, judge)
    const content_key = this.#contents.commit(scope.user_id, received)
    const content_type = detectContentType(received.head, given.content_type)
    const stored = await this.#store.write((tx) => {
      const before = this.#requireWritable(tx, scope, storage_key, judge)
      const replaced = this.#unlessExpired(before)
      const row = this.#buildRow(scope, storage_key, { content_key, content_type }, received, replaced)
      putObject(tx, row)
      return { row, replaced, left: this.#unreferenced(tx, before) }
    })
    const { row, replaced, left } = stored
    this.#updateQuota(replaced, row)
    await this.#discard(left)
    return { row, replaced: replaced !== null }
  }

  /**
   * Removes an object, and its bytes where nothing else needs them; where there is none, nothing.
   * @throws as `check`
   */
  async remove(scope: OwnerScope, storage_key: string, judge: ObjectPrecondition): Promise<void> {
    const { removed, left } = await this.#store.write((tx) => {
      const before = this.#requireWritable(tx, scope, storage_key, judge)
      if (before) deleteObject(tx, scope, storage_key)
      return { removed: before, left: this.#unreferenced(tx, before) }
    })
    this.#updateQuota(this.#unlessExpired(removed), null)
    await this.#discard(left)
  }

  /** What was under a key, where nothing else needs its bytes. */
  #unreferenced(tx: Tx, before: ObjectTable | undefined): ObjectTable | null {
    return before && !isBlobInUse(tx, before.content_key) ? before : null
  }

  async #discard(left: ObjectTable | null): Promise<void> {
    if (!left) return
    const { user_id, size, updated_at, expires_at } = left
    if (expires_at !== null) this.#quota.addLingering(user_id, size, Date.parse(updated_at) + UNREFERENCED_GRACE_MS)
    await this.#contents.discard([left.content_key])
  }

  #updateQuota(gone: ObjectTable | null, come: ObjectTable | null): void {
    if (gone && gone.expires_at !== null) this.#quota.removeFile(gone.user_id, rowToQuotaEntry(gone))
    if (come && come.expires_at !== null) this.#quota.addFile(come.user_id, rowToQuotaEntry(come))
  }

  /** Removes what is past its time, at most `limit` at once, until nothing is left of it. Gives how many it removed. */
  async sweep(limit: number, stopping: AbortSignal): Promise<number> {
    for (let sum = 0; ; ) {
      const now = this.#timestamp()
      const removed = await this.#store.write((tx) => deleteExpiredObjects(tx, now, limit))
      await this.#contents.discard(removed)
      sum += removed.length
      if (removed.length < limit || stopping.aborted) return sum
    }
  }

  /** The row as it is, its time over or not. */
  #requireWritable(tx: Tx, scope: OwnerScope, storage_key: string, judge: ObjectPrecondition): ObjectTable | undefined {
    if (isAssetKey(tx, scope, storage_key)) throw new ServiceError('CONFLICT', { message: ASSET_KEY_MESSAGE })
    const row = findOwnedObject(tx, scope, storage_key)
    judge(this.#unlessExpired(row))
    return row
  }

  #unlessExpired(row: ObjectTable | undefined): ObjectTable | null {
    return row === undefined || (row.expires_at !== null && row.expires_at <= this.#timestamp()) ? null : row
  }

  #buildRow(
    { user_id, workspace_id }: OwnerScope,
    storage_key: string,
    content: Pick<ObjectTable, 'content_key' | 'content_type'>,
    { size, sha256 }: StagedObject,
    replaced: ObjectTable | null,
  ): ObjectTable {
    const now = this.#timestamp()
    const expires_at = isTemporaryKey(storage_key) ? this.#timestamp(TEMPORARY_HOURS) : null
    const times = { expires_at, created_at: replaced?.created_at ?? now, updated_at: now }
    return { storage_key, user_id, workspace_id, ...content, size, sha256, ...times }
  }

  #timestamp(hours = 0): string {
    return new Date(this.#platform.now() + hours * 3_600_000).toISOString()
  }
}

const ASSET_KEY_MESSAGE =
  'The key is that of an asset, whose bytes never change: it is replaced and deleted as an asset.'

/** Whether a key is served for an asset of the scope: for its bytes, or for its small picture. */
function isAssetKey(tx: Tx, scope: OwnerScope, storage_key: string): boolean {
  if (findOwnedAssetByStorageKey(tx, scope, storage_key)) return true
  const id = parseThumbnailKey(storage_key)
  const asset = id === null ? undefined : findOwnedAsset(tx, scope, id)
  return asset !== undefined && asset.thumb_key !== null && thumbnailStorageKey(asset) === storage_key
}

function digestMismatchError(): ServiceError {
  const message = 'is not the digest of the body'
  const path = '/headers/x-checksum-sha256'
  return new ServiceError('INVALID_REQUEST', { message: `${path}: ${message}`, problems: [{ path, message }] })
}
