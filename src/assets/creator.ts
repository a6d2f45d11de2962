// AssetCreator creates assets. It refuses invalid requests before it reads their bytes, and checks them again in the transaction that
// writes the row.
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { deleteAssetTree, listBlobKeys } from '../db/assets/deleted-folders.ts'
import { insertAsset, isBlobInUse, type NewAsset } from '../db/assets/rows.ts'
import type { OwnerScope } from '../db/owner-scope.ts'
import type { Store, Tx } from '../db/store.ts'
import type { Platform } from '../platform.ts'
import { SNIFFED_BYTES } from './content-type.ts'
import type { FileLookup, StoredFile } from './file-lookup.ts'
import { formatOwnMetadata } from './metadata.ts'
import { type AssetContent, createAssetRow } from './new-asset-row.ts'
import { referenceNotFound, resolvePlacement } from './placement.ts'
import { FOLDER_CONTENT_TYPE } from './record.ts'
import {
  type AssetCreationRequest,
  throwIfProblems,
  validateAssetCreation,
  validateAssetDigest,
} from './request-validation.ts'
import { contentKey, isObjectKey, storageUri } from './storage-keys.ts'
import type { BlobStore } from './stores/blob-store.ts'
import type { ByteSource } from './stores/object-store.ts'

export interface AssetCreatorParts {
  readonly store: Store
  readonly contents: BlobStore
  readonly files: FileLookup
  readonly platform: Platform
}

/** A file that is being uploaded. */
export interface AssetUpload {
  readonly name: string | null
  /** The claimed type, null if there is no useful claim. */
  readonly content_type: string | null
  /** Read once. If it throws, no asset is created and no bytes are kept. */
  readonly bytes: ByteSource
}

interface UploadClaims {
  readonly name: string | null
  readonly content_type: string | null
}

/** Builds a row from its placement. */
type RowBuilder = (place: { name: string | null; parent_id: string | null }) => NewAsset

export class AssetCreator {
  readonly #parts: AssetCreatorParts

  constructor(parts: AssetCreatorParts) {
    this.#parts = parts
  }

  /** Creates an asset from an upload, from the object at `uri`, or a folder, and returns its row. @throws see AssetService.create */
  async create(owner: OwnerScope, request: AssetCreationRequest, file: AssetUpload | null): Promise<NewAsset> {
    validateAssetCreation(request, file !== null)
    this.#parts.store.read((tx) => resolvePlacement(tx, owner, request))
    if (request.content_type === FOLDER_CONTENT_TYPE)
      return this.#write(owner, request, this.#folderRow(owner, request))
    return file ? this.#createFromUpload(owner, request, file) : this.#createFromUri(owner, request)
  }

  #folderRow({ user_id, workspace_id }: OwnerScope, request: AssetCreationRequest): RowBuilder {
    const now = this.#parts.platform.timestamp()
    const row = {
      id: this.#parts.platform.id('asset'),
      user_id,
      workspace_id,
      content_type: FOLDER_CONTENT_TYPE,
      size: 0,
      sha256: null,
      storage_key: null,
      content_key: null,
      thumb_key: null,
      metadata: formatOwnMetadata(request.metadata ?? {}),
      previewed: 1,
      workflow_id: request.workflow_id ?? null,
      job_id: null,
      node_id: request.node_id ?? null,
      created_at: now,
      updated_at: now,
    }
    return ({ name, parent_id }) => ({ ...row, name: name!, parent_id })
  }

  async #createFromUpload(owner: OwnerScope, request: AssetCreationRequest, file: AssetUpload): Promise<NewAsset> {
    using received = await this.#parts.contents.receive(file.bytes)
    validateAssetDigest(request, received.sha256)
    // Bytes without a row stay for an hour, so this check comes before the commit.
    this.#parts.store.read((tx) => resolvePlacement(tx, owner, request))
    this.#parts.contents.commit(owner.user_id, received)
    return this.#write(owner, request, this.#fileRow(owner, request, received, file))
  }

  /** Creates an asset from a stored object. The bytes are shared if they are content of the user, or else copied. */
  async #createFromUri(owner: OwnerScope, request: AssetCreationRequest): Promise<NewAsset> {
    const key = parseStorageUri(request.uri!)
    if (key === null) throwIfProblems([{ path: '/body/uri', message: 'must be a URL below /api/storage/' }])
    const file = await this.#parts.files.byKey(owner, key!)
    if (!file) throw referenceNotFound('uri', NO_SUCH_OBJECT)
    validateAssetDigest(request, file.sha256)
    const head = await buffer(await openFile(file, Math.min(file.size, SNIFFED_BYTES + 1)))
    const row = this.#fileRow(owner, request, { size: file.size, sha256: file.sha256, head }, file)
    const content_key = contentKey(owner.user_id, file.sha256)
    const shared = await this.#writeIf((tx) => isBlobInUse(tx, content_key), owner, request, row)
    if (shared) return shared
    const bytes = await openFile(file, file.size)
    return this.#createFromUpload(owner, request, { name: file.name, content_type: file.content_type, bytes })
  }

  #fileRow(owner: OwnerScope, request: AssetCreationRequest, kept: AssetContent, claims: UploadClaims): RowBuilder {
    const { platform } = this.#parts
    const about = {
      id: platform.id('asset'),
      now: platform.timestamp(),
      content_type: request.content_type ?? claims.content_type,
      metadata: formatOwnMetadata(request.metadata ?? {}),
      workflow_id: request.workflow_id ?? null,
      job_id: request.job_id ?? null,
      node_id: request.node_id ?? null,
    }
    return ({ name, parent_id }) => createAssetRow(owner, kept, { ...about, name: name ?? claims.name, parent_id })
  }

  /** Inserts a row at its place and removes the asset that it replaces. */
  async #write(owner: OwnerScope, request: AssetCreationRequest, rowIn: RowBuilder): Promise<NewAsset> {
    const row = await this.#writeIf(() => true, owner, request, rowIn)
    return row!
  }

  /** Does what `#write` does if `holds` returns true in the same transaction; otherwise returns null. */
  async #writeIf(
    holds: (tx: Tx) => boolean,
    owner: OwnerScope,
    request: AssetCreationRequest,
    rowIn: RowBuilder,
  ): Promise<NewAsset | null> {
    const written = await this.#parts.store.write((tx) => {
      if (!holds(tx)) return null
      const { name, parent_id, replaced } = resolvePlacement(tx, owner, request)
      const row = rowIn({ name, parent_id })
      insertAsset(tx, row)
      const removed = replaced ? deleteAssetTree(tx, owner, replaced.id).removed : []
      return { row, removed }
    })
    if (!written) return null
    await this.#parts.contents.discard(listBlobKeys(written.removed))
    return written.row
  }
}

const NO_SUCH_OBJECT = 'There is no such object.'

async function openFile(file: StoredFile, length: number): Promise<Readable> {
  const stream = await file.read({ start: 0, length })
  if (!stream) throw referenceNotFound('uri', NO_SUCH_OBJECT)
  return stream
}

/** The key of a file whose address, the path with or without a query, is given; null for what is no such address. */
function parseStorageUri(uri: string): string | null {
  const storage = storageUri('')
  if (!uri.startsWith(storage)) return null
  const key = decodeKey(uri.slice(storage.length).replace(/[?#].*$/s, ''))
  return key !== null && isObjectKey(key) ? key : null
}

function decodeKey(key: string): string | null {
  try {
    return decodeURIComponent(key)
  } catch {
    return null
  }
}
