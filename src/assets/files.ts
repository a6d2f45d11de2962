// Files by their addresses, whichever store keeps them: assets and objects, which have rows, and temporary uploads, which have none.
import type { Readable } from 'node:stream'
import type { ObjectTable } from '../db/schema.ts'
import type { Scope } from '../db/scope.ts'
import type { Assets, StoredAsset } from './assets.ts'
import { isUpload } from './keys.ts'
import type { ByteRange } from './object-store.ts'
import type { StoredObjects } from './objects.ts'
import { isTemporaryId, type TemporaryFile, type TemporaryStore } from './temporary.ts'

export interface FoundFile {
  readonly name: string
  readonly content_type: string
  /** Bytes. */
  readonly size: number
  readonly sha256: string
  readonly created_at: string
  /** Null for one that is kept until somebody removes it. */
  readonly expires_at: string | null
  /** Its bytes, or null where it was removed meanwhile. Whoever gets a stream ends or destroys it. */
  read(range: ByteRange): Promise<Readable | null>
}

export class Files {
  readonly #assets: Assets
  readonly #objects: StoredObjects
  readonly #temporary: TemporaryStore

  constructor(assets: Assets, objects: StoredObjects, temporary: TemporaryStore) {
    this.#assets = assets
    this.#objects = objects
    this.#temporary = temporary
  }

  /** The file of an id of this scope, or null where there is none. */
  async byId(scope: Scope, asset_id: string): Promise<FoundFile | null> {
    if (isTemporaryId(asset_id)) return this.#passing(await this.#temporary.findById(scope, asset_id))
    return this.#kept(this.#assets.findById(scope, asset_id))
  }

  /**
   * The file that is served under a key: of this scope, or of any for a caller who brings a signature of the key (null). The keys of objects are
   * their users' in each workspace, so that a signature names none.
   */
  async byKey(scope: Scope | null, storage_key: string): Promise<FoundFile | null> {
    if (isUpload(storage_key)) return this.#passing(await this.#temporary.find(scope, storage_key))
    if (scope === null) return this.#kept(this.#assets.findSigned(storage_key))
    return this.#kept(this.#assets.find(scope, storage_key)) ?? this.#put(this.#objects.find(scope, storage_key))
  }

  #kept(asset: StoredAsset | null): FoundFile | null {
    if (asset === null) return null
    const { name, content_type, size, sha256, created_at } = asset
    const read = (range: ByteRange) => this.#assets.read(asset, range)
    return { name, content_type, size, sha256, created_at, expires_at: null, read }
  }

  #put(object: ObjectTable | null): FoundFile | null {
    if (object === null) return null
    const { storage_key, content_type, size, sha256, updated_at, expires_at } = object
    const name = storage_key.slice(storage_key.lastIndexOf('/') + 1)
    const read = (range: ByteRange) => this.#objects.read(object, range)
    return { name, content_type, size, sha256, created_at: updated_at, expires_at, read }
  }

  #passing(file: TemporaryFile | null): FoundFile | null {
    return file && { ...file, read: (range) => this.#temporary.read(file, range) }
  }
}
