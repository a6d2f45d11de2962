// FileLookup finds files by id or key in any store: assets and objects, which have rows, and temporary uploads, which have none.
import type { Readable } from 'node:stream'
import type { OwnerScope } from '../db/owner-scope.ts'
import type { ObjectTable } from '../db/tables/assets.ts'
import type { AssetStore, StoredAsset } from './asset-store.ts'
import { isTemporaryUploadKey } from './storage-keys.ts'
import type { StoredObjectService } from './stored-object-service.ts'
import type { ByteRange } from './stores/object-store.ts'
import { isTemporaryId, type TemporaryFile, type TemporaryStore } from './temporary/store.ts'

export interface StoredFile {
  readonly name: string
  readonly content_type: string
  /** Bytes. */
  readonly size: number
  readonly sha256: string
  readonly created_at: string
  /** Null if the file is kept until it is deleted. */
  readonly expires_at: string | null
  /** Returns bytes of the file, or null if it was removed meanwhile. The caller ends or destroys the stream. */
  read(range: ByteRange): Promise<Readable | null>
}

export class FileLookup {
  readonly #assets: AssetStore
  readonly #objects: StoredObjectService
  readonly #temporary: TemporaryStore

  constructor(assets: AssetStore, objects: StoredObjectService, temporary: TemporaryStore) {
    this.#assets = assets
    this.#objects = objects
    this.#temporary = temporary
  }

  /** Returns the file with an id in this scope, or null if there is none. */
  async byId(scope: OwnerScope, asset_id: string): Promise<StoredFile | null> {
    if (isTemporaryId(asset_id)) return this.#fromTemporary(await this.#temporary.findById(scope, asset_id))
    return this.#fromAsset(this.#assets.findById(scope, asset_id))
  }

  /**
   * Returns the file that is served under a key in this scope. `scope` is null for a caller with a signature of the key. A signature names
   * no object, because each workspace of a user has its own object under the same key.
   */
  async byKey(scope: OwnerScope | null, storage_key: string): Promise<StoredFile | null> {
    if (isTemporaryUploadKey(storage_key)) return this.#fromTemporary(await this.#temporary.find(scope, storage_key))
    if (scope === null) return this.#fromAsset(this.#assets.findSigned(storage_key))
    return (
      this.#fromAsset(this.#assets.find(scope, storage_key)) ?? this.#fromObject(this.#objects.find(scope, storage_key))
    )
  }

  #fromAsset(asset: StoredAsset | null): StoredFile | null {
    if (asset === null) return null
    const { name, content_type, size, sha256, created_at } = asset
    const read = (range: ByteRange) => this.#assets.read(asset, range)
    return { name, content_type, size, sha256, created_at, expires_at: null, read }
  }

  #fromObject(object: ObjectTable | null): StoredFile | null {
    if (object === null) return null
    const { storage_key, content_type, size, sha256, updated_at, expires_at } = object
    const name = storage_key.slice(storage_key.lastIndexOf('/') + 1)
    const read = (range: ByteRange) => this.#objects.read(object, range)
    return { name, content_type, size, sha256, created_at: updated_at, expires_at, read }
  }

  #fromTemporary(file: TemporaryFile | null): StoredFile | null {
    return file && { ...file, read: (range) => this.#temporary.read(file, range) }
  }
}
