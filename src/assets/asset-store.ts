// AssetStore keeps assets: a row for each file, and its bytes in a blob store. Bytes are on disk before their row is committed, and are
// removed only when no row needs them. A crash in between leaves an object without a row, which the sweep removes.
import { createHmac } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { AssetReference } from '../../generated/types.ts'
import { listBlobKeys, type RemovedBlobs } from '../db/assets/deleted-folders.ts'
import {
  deleteAsset,
  deleteAssetsOfJob,
  findAsset,
  findAssetByStorageKey,
  findOwnedAsset,
  findOwnedAssetByStorageKey,
  insertAsset,
  type NewAsset,
} from '../db/assets/rows.ts'
import type { OwnerScope } from '../db/owner-scope.ts'
import type { Store, Tx } from '../db/store.ts'
import type { Platform } from '../platform.ts'
import { sha256 } from '../shared/hashes.ts'
import { createAssetRow, type StoredAsset } from './new-asset-row.ts'
import type { PreviewScheduler } from './previews/scheduler.ts'
import { parseThumbnailKey } from './previews/thumbnail-keys.ts'
import { sha256OfBytes, storageUri } from './storage-keys.ts'
import type { BlobStore } from './stores/blob-store.ts'
import type { ByteRange } from './stores/object-store.ts'
import { toThumbnailAsset } from './thumb-asset.ts'
import type { UrlSigner } from './url-signer.ts'

export interface AssetStoreParts {
  readonly store: Store
  readonly contents: BlobStore
  readonly platform: Platform
  readonly signatures: UrlSigner
  /** Hides what ids are derived from, because keys of jobs count the jobs of all users. It is used for nothing else. */
  readonly secret: Uint8Array
  /** Generates previews of new assets. */
  readonly previews?: Pick<PreviewScheduler, 'added'>
}

export type { StoredAsset } from './new-asset-row.ts'

/** Where in the outputs of a job an asset lies. The same bytes at the same location are the same asset. */
export interface AssetOutputLocation {
  readonly job_key: number
  readonly output_name: string
  /** The index of the value in the output, from 0. */
  readonly ordinal: number
  readonly path: readonly (string | number)[]
}

export interface AssetDetails {
  /** The claimed type; the bytes decide. */
  readonly content_type: string | null
  readonly name?: string | null
  readonly workflow_id: string | null
  readonly job_id: string | null
  readonly node_id: string | null
  /** If absent, each call makes a new asset. */
  readonly place?: AssetOutputLocation
}

export interface PreparedAsset {
  readonly row: StoredAsset
  readonly reference: AssetReference
}

export class AssetStore {
  readonly signatures: UrlSigner
  readonly #store: Store
  readonly #contents: BlobStore
  readonly #platform: Platform
  readonly #secret: Uint8Array
  readonly #previews: Pick<PreviewScheduler, 'added'> | null

  constructor({ store, contents, platform, signatures, secret, previews }: AssetStoreParts) {
    this.#store = store
    this.#contents = contents
    this.#platform = platform
    this.signatures = signatures
    this.#secret = secret
    this.#previews = previews ?? null
  }

  /**
   * Writes bytes to disk, synchronously, and returns the row, which `insert` has to write within an hour. Equal bytes of one user are
   * stored once.
   * @throws what the file system throws: no room, no access
   */
  prepare({ user_id, workspace_id }: OwnerScope, bytes: Uint8Array, about: AssetDetails): PreparedAsset {
    const scope = { user_id, workspace_id }
    const digest = sha256OfBytes(bytes)
    const id = about.place
      ? this.#idAtLocation(scope, formatContentIdentity(scope, about.place, digest))
      : this.#platform.id('asset')
    const { name = null, content_type, workflow_id, job_id, node_id } = about
    const row = createAssetRow(
      scope,
      { size: bytes.length, sha256: digest, head: bytes },
      { id, now: this.#platform.timestamp(), name, content_type, workflow_id, job_id, node_id },
    )
    this.#contents.putSync(row.content_key, bytes)
    return { row, reference: toAssetReference(row) }
  }

  /** Returns the same id each time. A resumed job uses the id that a former version of the service gave. */
  #idAtLocation(scope: OwnerScope, content: string): string {
    const former = `asset_${sha256(content).slice(0, 32)}`
    if (this.findById(scope, former)) return former
    return `asset_${createHmac('sha256', this.#secret).update(content).digest('hex').slice(0, 32)}`
  }

  /** Inserts the row in the caller's transaction. A second insert changes nothing. */
  insert(tx: Tx, { row }: PreparedAsset): void {
    insertAsset(tx, row)
    if (row.previewed === 0) this.#previews?.added(row.user_id)
  }

  /** Returns the asset, or the thumbnail, that is served under a key; null if this scope has none. */
  find(scope: OwnerScope, storage_key: string): StoredAsset | null {
    return this.#store.read((tx) => {
      const id = parseThumbnailKey(storage_key)
      const thumb = id === null ? null : toThumbnailAsset(findOwnedAsset(tx, scope, id), storage_key)
      return thumb ?? toStoredAsset(findOwnedAssetByStorageKey(tx, scope, storage_key))
    })
  }

  /** Does what `find` does, by the asset's id. */
  findById(scope: OwnerScope, asset_id: string): StoredAsset | null {
    return toStoredAsset(this.#store.read((tx) => findOwnedAsset(tx, scope, asset_id)))
  }

  /** Does what `find` does for any caller with a signature of the key. */
  findSigned(storage_key: string): StoredAsset | null {
    return this.#store.read((tx) => {
      const id = parseThumbnailKey(storage_key)
      const thumb = id === null ? null : toThumbnailAsset(findAsset(tx, id), storage_key)
      return thumb ?? toStoredAsset(findAssetByStorageKey(tx, storage_key))
    })
  }

  /** Returns bytes of an asset, or null if it was removed meanwhile. */
  async read(asset: StoredAsset, range: ByteRange): Promise<Readable | null> {
    const stream = await this.#contents.get(asset.content_key, range)
    if (stream || this.findSigned(asset.storage_key) === null) return stream
    throw new Error(
      `the bytes of asset ${asset.id} are missing from the store (${asset.content_key}): check that SVC_STORAGE_URL has not changed`,
    )
  }

  /**
   * Removes an asset, and the bytes of the asset and its thumbnail unless other rows need them. Returns false if this scope has no such
   * asset.
   */
  async remove(scope: OwnerScope, storage_key: string): Promise<boolean> {
    const removed = await this.#store.write((tx) => deleteAsset(tx, scope, storage_key))
    if (removed === undefined) return false
    await this.#contents.discard(listBlobKeys([removed]))
    return true
  }

  /** Removes at most `limit` assets of a job in the caller's transaction. The caller discards the returned blobs after the commit. */
  removeByJob(tx: Tx, scope: OwnerScope, job_id: string, limit: number): RemovedBlobs[] {
    return deleteAssetsOfJob(tx, scope, job_id, limit)
  }
}

/** Returns the reference by which results, events and records name an asset. */
export function toAssetReference({ id, storage_key, name, content_type, size, sha256 }: StoredAsset): AssetReference {
  const uri = storageUri(storage_key)
  return { asset_id: id, uri, name, content_type, size, sha256, download_url: null, expires_at: null }
}

function toStoredAsset(row: NewAsset | undefined): StoredAsset | null {
  if (row === undefined || row.sha256 === null || row.storage_key === null || row.content_key === null) return null
  return row as StoredAsset
}

/**
 * Returns the text that identifies content at an output location. It includes the digest, so that the bytes under an id never change, even
 * if a later job of the same key publishes there.
 */
export function formatContentIdentity(
  scope: OwnerScope,
  { job_key, output_name, ordinal, path }: AssetOutputLocation,
  digest: string,
): string {
  return JSON.stringify([scope.user_id, scope.workspace_id, job_key, output_name, ordinal, path, digest])
}
