// StoredObjectService keeps objects that callers put under keys of their own: rows, with the bytes in the blob store. Each workspace of a
// user has its own objects under the same keys. storage-keys.ts decides what a key may be used for, and the caller checks preconditions.
import type { Readable } from 'node:stream'
import { deleteExpiredObjects, deleteObject, findOwnedObject, putObject } from '../db/assets/objects.ts'
import { findOwnedAsset, findOwnedAssetByStorageKey, isBlobInUse } from '../db/assets/rows.ts'
import type { OwnerScope } from '../db/owner-scope.ts'
import type { Store, Tx } from '../db/store.ts'
import type { ObjectTable } from '../db/tables/assets.ts'
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
  /** If the source throws, no bytes are kept. */
  readonly bytes: ByteSource
  /** The claimed type; the bytes decide. */
  readonly content_type: string | null
  /** The digest that the bytes must have, or null for any. */
  readonly sha256: string | null
}

/** Throws if the present object, if any, is not the one that the caller expects. */
export type ObjectPrecondition = (present: ObjectTable | null) => void

/** Counts temporary objects that are added and removed. */
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

  /** Returns the object under a key, or null if this scope has none, or it has expired. */
  find(scope: OwnerScope, storage_key: string): ObjectTable | null {
    return this.#unlessExpired(this.#store.read((tx) => findOwnedObject(tx, scope, storage_key)))
  }

  /** Returns bytes of an object, or null if it was replaced or removed meanwhile. */
  async read(object: ObjectTable, range: ByteRange): Promise<Readable | null> {
    const stream = await this.#contents.get(object.content_key, range)
    if (stream || this.find(object, object.storage_key)?.content_key !== object.content_key) return stream
    throw new Error(
      `the bytes of object ${object.storage_key} are missing from the store (${object.content_key}): check that SVC_STORAGE_URL has not changed`,
    )
  }

  /** Checks whether a key can be written, before its bytes arrive. @throws CONFLICT for a key of an asset, and what `judge` throws */
  check(scope: OwnerScope, storage_key: string, judge: ObjectPrecondition): void {
    this.#store.read((tx) => this.#requireWritable(tx, scope, storage_key, judge))
  }

  /**
   * Stores an object under a key that the user may write, and replaces the present object; `replaced` says whether there was one. The
   * precondition is checked again in the transaction that writes the row.
   * @throws what `check` throws, INVALID_REQUEST for another digest, the errors of the upload, and those of the store: no room, no access
   */
  async put(
    scope: OwnerScope,
    storage_key: string,
    given: ObjectUpload,
    judge: ObjectPrecondition,
  ): Promise<PutObjectResult> {
    using received = await this.#contents.receive(given.bytes)
    if (given.sha256 !== null && given.sha256 !== received.sha256) throw digestMismatchError()
    // Bytes without a row stay for an hour, so this check comes before the commit.
    this.check(scope, storage_key, judge)
    const content_key = this.#contents.commit(scope.user_id, received)
    const content_type = detectContentType(received.head, given.content_type)
    const stored = await this.#store.write((tx) => {
      const before = this.#requireWritable(tx, scope, storage_key, judge)
      const replaced = this.#unlessExpired(before)
      const row = this.#buildRow(scope, storage_key, { content_key, content_type }, received, replaced)
      putObject(tx, row)
      return { row, replaced, unreferenced: this.#unreferenced(tx, before) }
    })
    const { row, replaced, unreferenced } = stored
    this.#updateQuota(replaced, row)
    await this.#discard(unreferenced)
    return { row, replaced: replaced !== null }
  }

  /** Removes an object, and its bytes unless other rows need them. Does nothing if there is no object. @throws what `check` throws */
  async remove(scope: OwnerScope, storage_key: string, judge: ObjectPrecondition): Promise<void> {
    const { removed, unreferenced } = await this.#store.write((tx) => {
      const before = this.#requireWritable(tx, scope, storage_key, judge)
      if (before) deleteObject(tx, scope, storage_key)
      return { removed: before, unreferenced: this.#unreferenced(tx, before) }
    })
    this.#updateQuota(this.#unlessExpired(removed), null)
    await this.#discard(unreferenced)
  }

  /** Returns the former object of a key if no other row needs its bytes. */
  #unreferenced(tx: Tx, before: ObjectTable | undefined): ObjectTable | null {
    return before && !isBlobInUse(tx, before.content_key) ? before : null
  }

  async #discard(unreferenced: ObjectTable | null): Promise<void> {
    if (!unreferenced) return
    const { user_id, size, updated_at, expires_at } = unreferenced
    if (expires_at !== null) this.#quota.addLingering(user_id, size, Date.parse(updated_at) + UNREFERENCED_GRACE_MS)
    await this.#contents.discard([unreferenced.content_key])
  }

  #updateQuota(removed: ObjectTable | null, added: ObjectTable | null): void {
    if (removed && removed.expires_at !== null) this.#quota.removeFile(removed.user_id, rowToQuotaEntry(removed))
    if (added && added.expires_at !== null) this.#quota.addFile(added.user_id, rowToQuotaEntry(added))
  }

  /** Removes expired objects, at most `limit` at once, until none is left. Returns how many were removed. */
  async sweep(limit: number, stopping: AbortSignal): Promise<number> {
    for (let sum = 0; ; ) {
      const now = this.#timestamp()
      const removed = await this.#store.write((tx) => deleteExpiredObjects(tx, now, limit))
      await this.#contents.discard(removed)
      sum += removed.length
      if (removed.length < limit || stopping.aborted) return sum
    }
  }

  /** Returns the row, expired or not. */
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

const ASSET_KEY_MESSAGE = 'The key belongs to an asset, whose bytes never change. Replace or delete the asset instead.'

/** Whether a key is that of an asset of the scope, or of its thumbnail. */
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
