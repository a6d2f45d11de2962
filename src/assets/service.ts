// AssetService lists, reads, creates, changes and deletes the assets of callers, in folders. An asset of another owner is NOT_FOUND, like
// one that does not exist. asset-store.ts writes the assets of jobs, and file-lookup.ts finds bytes.
import type { Asset, AssetPage, UpdateAssetRequest } from '../../generated/types.ts'
import { deleteAssetTree, listBlobKeys } from '../db/assets/deleted-folders.ts'
import { findAssetRowsSteps } from '../db/assets/list-search.ts'
import { findOwnedAsset } from '../db/assets/rows.ts'
import { isFolderWithin, MAX_FOLDER_DEPTH, updateAsset } from '../db/assets/updates.ts'
import { type OwnerScope, userShareKey } from '../db/owner-scope.ts'
import type { SealedCursors } from '../db/sealed-cursors.ts'
import type { Store, Tx } from '../db/store.ts'
import type { AssetTable } from '../db/tables/assets.ts'
import { ServiceError } from '../errors.ts'
import type { Platform } from '../platform.ts'
import type { TimeSliceScheduler } from '../shared/time-slices.ts'
import { AssetCreator, type AssetUpload } from './creator.ts'
import type { FileLookup, StoredFile } from './file-lookup.ts'
import type { FolderRemovals } from './folder-removals.ts'
import { type AssetListRequest, assetListName, resolvePageSize, toAssetFilter } from './list-request.ts'
import { replaceOwnMetadata } from './metadata.ts'
import { resolveFolder } from './placement.ts'
import type { PreviewScheduler } from './previews/scheduler.ts'
import { type DownloadLink, FOLDER_CONTENT_TYPE, toAssetRecord } from './record.ts'
import { type AssetCreationRequest, validateAssetMetadata, validateAssetName } from './request-validation.ts'
import type { BlobStore } from './stores/blob-store.ts'
import type { UrlSigner } from './url-signer.ts'

export interface AssetServiceParts {
  readonly store: Store
  readonly slices: Pick<TimeSliceScheduler, 'begin'>
  readonly contents: BlobStore
  readonly files: FileLookup
  readonly platform: Platform
  readonly previews: PreviewScheduler
  readonly signatures: UrlSigner
  readonly cursors: SealedCursors
  /** Removes the contents of large deleted folders. */
  readonly folder_removals: Pick<FolderRemovals, 'begin'>
}

/** Milliseconds that a request waits for the preview of its new asset. */
const PREVIEW_WAIT_MS = 2_000

/** A request for a download URL. */
export interface DownloadLinkRequest {
  /** The lifetime in seconds. */
  readonly expires_in: number
  /** The credential that the URL must not outlive. */
  readonly credential: {
    /** The stored token, which may be revoked; null for a caller without one. */
    readonly token_id: string | null
    /** When the credential expires, in milliseconds since the epoch; null if it is not known to expire. */
    readonly expires_at: number | null
  }
}

export class AssetService {
  readonly #parts: AssetServiceParts
  readonly #creator: AssetCreator

  constructor(parts: AssetServiceParts) {
    this.#parts = parts
    this.#creator = new AssetCreator(parts)
  }

  /** @throws INVALID_REQUEST for a cursor of another list */
  async list(owner: OwnerScope, request: AssetListRequest): Promise<AssetPage> {
    const { store, slices, cursors } = this.#parts
    const filter = toAssetFilter(request)
    const before = cursors.open(owner, assetListName(filter), request.cursor, request.cursor_at)
    const wanted = resolvePageSize(request)
    const { rows, reached } = await slices.begin(
      userShareKey(owner),
      findAssetRowsSteps(store, owner, filter, before, wanted + 1),
    )
    const shown = rows.slice(0, wanted)
    // An extra row begins the next page. If the search stopped early, the next page continues from there.
    const from = rows.length > wanted ? shown.at(-1)!.key : reached
    const next = from === 0 ? null : cursors.seal(owner, assetListName(filter), from)
    return { assets: shown.map((row) => toAssetRecord(row)), next }
  }

  /** With `link`, the record includes a download URL that expires. @throws NOT_FOUND */
  get(owner: OwnerScope, id: string, link: DownloadLinkRequest | null = null): Asset {
    const row = this.#requireRow(owner, id)
    return toAssetRecord(row, link === null ? null : this.#createDownloadLink(row, link))
  }

  /** Returns the file of an asset. @throws NOT_FOUND, CONFLICT for a folder */
  async file(owner: OwnerScope, id: string): Promise<StoredFile> {
    if (this.#requireRow(owner, id).content_type === FOLDER_CONTENT_TYPE)
      throw new ServiceError('CONFLICT', { message: 'A folder has no bytes.' })
    const file = await this.#parts.files.byId(owner, id)
    if (!file) throw new ServiceError('NOT_FOUND')
    return file
  }

  /**
   * Creates an asset from the uploaded file, from a stored object, or a folder. It waits a moment for the preview, so that the record
   * mostly has a thumbnail.
   * @throws INVALID_REQUEST, NOT_FOUND for an item that the request names, CONFLICT for a folder to replace, the errors of the upload, and
   * those of the store: no room, no access
   */
  async create(owner: OwnerScope, request: AssetCreationRequest, file: AssetUpload | null): Promise<Asset> {
    const row = await this.#creator.create(owner, request, file)
    if (row.previewed === 0) await this.#parts.previews.prioritize(row, PREVIEW_WAIT_MS)
    return toAssetRecord(this.#parts.store.read((tx) => findOwnedAsset(tx, owner, row.id)) ?? row)
  }

  /** Changes the given members. @throws NOT_FOUND, INVALID_REQUEST for a name or metadata, CONFLICT for a folder moved into itself */
  async update(owner: OwnerScope, id: string, request: UpdateAssetRequest): Promise<Asset> {
    const name = validateAssetName(request.name)
    validateAssetMetadata(request.metadata)
    const updated_at = this.#parts.platform.timestamp()
    await this.#parts.store.write((tx) => {
      const row = requireRow(tx, owner, id)
      const parent_id = request.parent_id ? resolveFolder(tx, owner, request.parent_id) : row.parent_id
      rejectFolderCycle(tx, row, parent_id)
      const metadata = request.metadata ? replaceOwnMetadata(row.metadata, request.metadata) : row.metadata
      updateAsset(tx, { id, name: name ?? row.name, parent_id, metadata, updated_at })
    })
    return this.get(owner, id)
  }

  /**
   * Deletes an asset, or a folder with its contents, in one step; then the blobs that no row needs. The rows of a large folder are removed
   * later, in the background, and no read shows them meanwhile.
   * @throws NOT_FOUND
   */
  async delete(owner: OwnerScope, id: string): Promise<void> {
    const { removed, done } = await this.#parts.store.write((tx) => {
      requireRow(tx, owner, id)
      return deleteAssetTree(tx, owner, id)
    })
    if (!done) this.#parts.folder_removals.begin()
    await this.#parts.contents.discard(listBlobKeys(removed))
  }

  #requireRow(owner: OwnerScope, id: string): AssetTable {
    return this.#parts.store.read((tx) => requireRow(tx, owner, id))
  }

  #createDownloadLink(
    { storage_key }: AssetTable,
    { expires_in, credential }: DownloadLinkRequest,
  ): DownloadLink | null {
    if (storage_key === null) return null
    // Signatures count whole seconds, so the current second is rounded up.
    const asked = Math.ceil(this.#parts.platform.now() / 1_000) + expires_in
    const { expires_at: end, token_id } = credential
    const expires = end === null ? asked : Math.min(asked, Math.floor(end / 1_000))
    const expires_at = new Date(expires * 1_000).toISOString()
    return { download_url: this.#parts.signatures.signUrl(storage_key, expires, token_id), expires_at }
  }
}

function requireRow(tx: Tx, owner: OwnerScope, id: string): AssetTable {
  const row = findOwnedAsset(tx, owner, id)
  if (!row) throw new ServiceError('NOT_FOUND')
  return row
}

function rejectFolderCycle(tx: Tx, { id, content_type }: AssetTable, parent_id: string | null): void {
  const within = content_type === FOLDER_CONTENT_TYPE && parent_id !== null && isFolderWithin(tx, parent_id, id)
  if (within === false) return
  const message = within
    ? 'A folder cannot be moved into itself, or into a folder that it holds.'
    : `A folder cannot be moved into one that lies below more than ${MAX_FOLDER_DEPTH.toLocaleString('en')} others.`
  throw new ServiceError('CONFLICT', { message })
}
