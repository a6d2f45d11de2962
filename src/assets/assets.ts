// Assets: rows of files with their bytes in a store of objects. Bytes are on disk before their row is committed, and go only when no
// row needs them: what a crash leaves behind between the two is an object without a row, which the sweep removes.
import type { Readable } from 'node:stream'
import type { AssetReference } from '../../generated/types.ts'
import { assetByKey, contentInUse, deleteAsset, deleteAssetsOfJob, insertAsset, ownedAsset } from '../db/assets.ts'
import type { AssetTable } from '../db/schema.ts'
import type { Scope } from '../db/scope.ts'
import type { Store, Tx } from '../db/store.ts'
import { sha256 } from '../json.ts'
import type { Platform } from '../platform.ts'
import { contentTypeOf, extensionOf } from './content-type.ts'
import { contentKey, digestOf, storageKey, uriOf } from './keys.ts'
import type { ByteRange, ObjectStore } from './object-store.ts'
import type { Signatures } from './signatures.ts'

export interface AssetTools {
  readonly store: Store
  readonly objects: ObjectStore
  readonly platform: Platform
  readonly signatures: Signatures
}

/** An asset that has bytes. */
export type StoredAsset = AssetTable & { sha256: string; storage_key: string; content_key: string }

/** Where in a job's outputs an asset lies. Bytes that are published there again are the same asset. */
export interface AssetPlace {
  readonly job_key: number
  readonly output_name: string
  /** Which value of the output, from 0. */
  readonly ordinal: number
  readonly path: readonly (string | number)[]
}

export interface AssetAbout {
  /** What is claimed; the bytes have the last word. */
  readonly content_type: string | null
  readonly name?: string | null
  readonly workflow_id: string | null
  readonly job_id: string | null
  readonly node_id: string | null
  /** Without one, each asset is a new one. */
  readonly place?: AssetPlace
}

export interface PreparedAsset {
  readonly row: StoredAsset
  readonly reference: AssetReference
}

export interface Swept {
  /** Objects looked at. */
  readonly examined: number
  readonly removed: number
  /** Whether this was the end of the store: the next sweep begins anew. */
  readonly ended: boolean
}

/** Bytes without a row are kept for so long: somebody may be about to commit one. */
const GRACE_MS = 3_600_000
/** Characters. */
const LONGEST_NAME = 255

export class Assets {
  readonly signatures: Signatures
  readonly #store: Store
  readonly #objects: ObjectStore
  readonly #platform: Platform
  #sweptTo: string | null = null

  constructor({ store, objects, platform, signatures }: AssetTools) {
    this.#store = store
    this.#objects = objects
    this.#platform = platform
    this.signatures = signatures
  }

  /**
   * Puts bytes on disk, at once, and gives the row that `insert` is to write within the hour. Equal bytes of one user are kept once.
   * @throws what the file system throws: no room, no access
   */
  prepare({ user_id, workspace_id }: Scope, bytes: Uint8Array, about: AssetAbout): PreparedAsset {
    const digest = digestOf(bytes)
    const content_type = contentTypeOf(bytes, about.content_type)
    const id = about.place ? placedId({ user_id, workspace_id }, about.place, digest) : this.#platform.id('asset')
    const given = cleanName(about.name ?? '')
    const extension = extensionOf(content_type, given)
    const now = this.#platform.timestamp()
    const row: StoredAsset = {
      id,
      user_id,
      workspace_id,
      parent_id: null,
      name: given === '' ? `${id}.${extension}` : given,
      content_type,
      size: bytes.length,
      sha256: digest,
      storage_key: storageKey(user_id, id, extension),
      content_key: contentKey(user_id, digest),
      metadata: '{}',
      workflow_id: about.workflow_id,
      job_id: about.job_id,
      node_id: about.node_id,
      created_at: now,
      updated_at: now,
    }
    this.#objects.putSync(row.content_key, bytes)
    return { row, reference: referenceTo(row) }
  }

  /** Writes the row in the caller's transaction. Again, it changes nothing. */
  insert(tx: Tx, { row }: PreparedAsset): void {
    insertAsset(tx, row)
  }

  /** The asset that is served under a key, or null where there is none of this scope. */
  find(scope: Scope, storage_key: string): StoredAsset | null {
    return stored(this.#store.read((tx) => ownedAsset(tx, scope, storage_key)))
  }

  /** As `find`, for a caller who brings a signature of the key, whoever that is. */
  findSigned(storage_key: string): StoredAsset | null {
    return stored(this.#store.read((tx) => assetByKey(tx, storage_key)))
  }

  /** Bytes of an asset, or null where it was removed meanwhile. */
  async read(asset: StoredAsset, range: ByteRange): Promise<Readable | null> {
    const stream = await this.#objects.get(asset.content_key, range)
    if (stream || this.findSigned(asset.storage_key) === null) return stream
    throw new Error(`the bytes of asset ${asset.id} are missing from the store (${asset.content_key})`)
  }

  /** Removes an asset, and its bytes where nothing else needs them; false where there is none of this scope. */
  async remove(scope: Scope, storage_key: string): Promise<boolean> {
    const content_key = await this.#store.write((tx) => deleteAsset(tx, scope, storage_key))
    if (content_key === undefined) return false
    await this.discard([content_key])
    return true
  }

  /** Removes at most `limit` assets that a job made, in the caller's transaction. What it gives is to be discarded after the commit. */
  removeOfJob(tx: Tx, scope: Scope, job_id: string, limit: number): string[] {
    return deleteAssetsOfJob(tx, scope, job_id, limit)
  }

  /** Removes bytes that nothing needs. Those that were put within the hour stay for the sweep. Settles to how many were removed. */
  async discard(content_keys: Iterable<string>): Promise<number> {
    const put_since = this.#platform.now() - GRACE_MS
    let removed = 0
    for (const key of new Set(content_keys)) {
      // From here to the removal nothing else runs: nobody can put the same bytes again in between.
      const needed = this.#store.read((tx) => contentInUse(tx, key))
      if (!needed && (await this.#objects.delete(key, put_since))) removed += 1
    }
    return removed
  }

  /** Removes bytes without a row that are older than an hour, of the next `limit` objects of the store. */
  async sweepUnreferenced(limit: number): Promise<Swept> {
    const keys = await this.#objects.list(this.#sweptTo, limit)
    const ended = keys.length < limit
    this.#sweptTo = ended ? null : keys.at(-1)!
    return { examined: keys.length, removed: await this.discard(keys), ended }
  }
}

/** How results, events and records name an asset. */
export function referenceTo({ id, storage_key, name, content_type, size, sha256 }: StoredAsset): AssetReference {
  const uri = uriOf(storage_key)
  return { asset_id: id, uri, name, content_type, size, sha256, download_url: null, expires_at: null }
}

function stored(row: AssetTable | undefined): StoredAsset | null {
  if (row === undefined || row.sha256 === null || row.storage_key === null || row.content_key === null) return null
  return row as StoredAsset
}

/** The digest is a part of it: the bytes of an asset never change, whatever a later job of the same key publishes there. */
function placedId(scope: Scope, { job_key, output_name, ordinal, path }: AssetPlace, digest: string): string {
  const parts = [scope.user_id, scope.workspace_id, job_key, output_name, ordinal, path, digest]
  return `asset_${sha256(JSON.stringify(parts)).slice(0, 32)}`
}

/** A claimed name as one name of a file: without folders and control characters. */
function cleanName(name: string): string {
  const last = name
    .split(/[/\\]/)
    .at(-1)!
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
  const short = Array.from(last.toWellFormed()).slice(0, LONGEST_NAME).join('')
  return short === '.' || short === '..' ? '' : short
}
