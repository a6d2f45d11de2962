// The assets of callers: listed, read, made, changed and deleted, in folders. Whatever belongs to another owner is the same NOT_FOUND as what does
// not exist. What jobs make is written by assets.ts, and bytes are found by files.ts.
import type { Asset, AssetPage, UpdateAssetRequest } from '../../generated/types.ts'
import { changeAsset, liesWithin, MOST_LEVELS } from '../db/asset-changes.ts'
import { rowSteps } from '../db/asset-search.ts'
import { ownedAssetById } from '../db/assets.ts'
import { deleteAssetTree, keysOf } from '../db/deleted-folders.ts'
import type { AssetTable } from '../db/schema.ts'
import { type Scope, userKey } from '../db/scope.ts'
import type { Store, Tx } from '../db/store.ts'
import { ServiceError } from '../errors.ts'
import type { Platform } from '../platform.ts'
import type { SealedCursors } from '../sealed-cursors.ts'
import type { TimeSlices } from '../time-slices.ts'
import type { Contents } from './contents.ts'
import type { Files, FoundFile } from './files.ts'
import type { FolderRemovals } from './folder-removals.ts'
import { type MakingRequest, requiredName, requireMetadata } from './judging.ts'
import { filterOf, type ListRequest, listName, pageSize } from './listing.ts'
import { type GivenFile, Making } from './making.ts'
import { withOwn } from './metadata.ts'
import { folderOf } from './places.ts'
import type { Previews } from './previews.ts'
import { assetRecord, type Download, FOLDER } from './record.ts'
import type { Signatures } from './signatures.ts'

export interface LibraryParts {
  readonly store: Store
  readonly slices: Pick<TimeSlices, 'begin'>
  readonly contents: Contents
  readonly files: Files
  readonly platform: Platform
  readonly previews: Previews
  readonly signatures: Signatures
  readonly cursors: SealedCursors
  /** Removes what large folders held. */
  readonly folder_removals: Pick<FolderRemovals, 'begin'>
}

/** So long a new asset is waited for until it has been looked at, in milliseconds. */
const LOOKED_AT_MS = 2_000

/** What a download address is asked for. */
export interface LinkRequest {
  /** In seconds. */
  readonly expires_in: number
  /** The credential that the address must not outlive. */
  readonly credential: {
    /** The stored token, which may be revoked; null for a caller without one. */
    readonly token_id: string | null
    /** When it ends, in milliseconds since the epoch; null where no end is known. */
    readonly expires_at: number | null
  }
}

export class Library {
  readonly #parts: LibraryParts
  readonly #making: Making

  constructor(parts: LibraryParts) {
    this.#parts = parts
    this.#making = new Making(parts)
  }

  /** @throws INVALID_REQUEST for a cursor of another list */
  async list(owner: Scope, request: ListRequest): Promise<AssetPage> {
    const { store, slices, cursors } = this.#parts
    const filter = filterOf(request)
    const before = cursors.open(owner, listName(filter), request.cursor, request.cursor_at)
    const wanted = pageSize(request)
    const { rows, reached } = await slices.begin(userKey(owner), rowSteps(store, owner, filter, before, wanted + 1))
    const shown = rows.slice(0, wanted)
    // Where there is one more it begins the next page; where the search, or what it found, is enough for one page, the next one goes on.
    const from = rows.length > wanted ? shown.at(-1)!.key : reached
    const next = from === 0 ? null : cursors.seal(owner, listName(filter), from)
    return { assets: shown.map((row) => assetRecord(row)), next }
  }

  /** With `link` the record has an address that expires. @throws NOT_FOUND */
  get(owner: Scope, id: string, link: LinkRequest | null = null): Asset {
    const row = this.#row(owner, id)
    return assetRecord(row, link === null ? null : this.#download(row, link))
  }

  /** The bytes of an asset. @throws NOT_FOUND, CONFLICT for a folder */
  async file(owner: Scope, id: string): Promise<FoundFile> {
    if (this.#row(owner, id).content_type === FOLDER)
      throw new ServiceError('CONFLICT', { message: 'A folder has no bytes.' })
    const file = await this.#parts.files.byId(owner, id)
    if (!file) throw new ServiceError('NOT_FOUND')
    return file
  }

  /**
   * Makes an asset of the file that is sent, of what the store has already, or a folder. It is looked at for a moment, so that its picture is
   * mostly there.
   * @throws INVALID_REQUEST, NOT_FOUND for what it names, CONFLICT for a folder to replace, what the bytes throw, and what the store does: no room,
   * no access
   */
  async create(owner: Scope, request: MakingRequest, file: GivenFile | null): Promise<Asset> {
    const row = await this.#making.make(owner, request, file)
    if (row.previewed === 0) await this.#parts.previews.soon(row, LOOKED_AT_MS)
    return assetRecord(this.#parts.store.read((tx) => ownedAssetById(tx, owner, row.id)) ?? row)
  }

  /** Changes what is given. @throws NOT_FOUND, INVALID_REQUEST for a name or metadata, CONFLICT for a folder moved into itself */
  async update(owner: Scope, id: string, request: UpdateAssetRequest): Promise<Asset> {
    const name = requiredName(request.name)
    requireMetadata(request.metadata)
    const updated_at = this.#parts.platform.timestamp()
    await this.#parts.store.write((tx) => {
      const row = requireRow(tx, owner, id)
      const parent_id = request.parent_id ? folderOf(tx, owner, request.parent_id) : row.parent_id
      refuseCycle(tx, row, parent_id)
      const metadata = request.metadata ? withOwn(row.metadata, request.metadata) : row.metadata
      changeAsset(tx, { id, name: name ?? row.name, parent_id, metadata, updated_at })
    })
    return this.get(owner, id)
  }

  /**
   * Deletes an asset, and all that a folder holds, in one step; then the bytes that nothing else needs. Of a large folder the rows are removed
   * afterwards, in the background: no read shows them meanwhile. @throws NOT_FOUND
   */
  async delete(owner: Scope, id: string): Promise<void> {
    const { removed, done } = await this.#parts.store.write((tx) => {
      requireRow(tx, owner, id)
      return deleteAssetTree(tx, owner, id)
    })
    if (!done) this.#parts.folder_removals.begin()
    await this.#parts.contents.discard(keysOf(removed))
  }

  #row(owner: Scope, id: string): AssetTable {
    return this.#parts.store.read((tx) => requireRow(tx, owner, id))
  }

  #download({ storage_key }: AssetTable, { expires_in, credential }: LinkRequest): Download | null {
    if (storage_key === null) return null
    // Signatures count whole seconds: what is left of this one comes besides.
    const asked = Math.ceil(this.#parts.platform.now() / 1_000) + expires_in
    const { expires_at: end, token_id } = credential
    const expires = end === null ? asked : Math.min(asked, Math.floor(end / 1_000))
    const expires_at = new Date(expires * 1_000).toISOString()
    return { download_url: this.#parts.signatures.url(storage_key, expires, token_id), expires_at }
  }
}

function requireRow(tx: Tx, owner: Scope, id: string): AssetTable {
  const row = ownedAssetById(tx, owner, id)
  if (!row) throw new ServiceError('NOT_FOUND')
  return row
}

function refuseCycle(tx: Tx, { id, content_type }: AssetTable, parent_id: string | null): void {
  const within = content_type === FOLDER && parent_id !== null && liesWithin(tx, parent_id, id)
  if (within === false) return
  const message = within
    ? 'A folder cannot be moved into itself, or into a folder that it holds.'
    : `A folder cannot be moved into one that lies below more than ${MOST_LEVELS.toLocaleString('en')} others.`
  throw new ServiceError('CONFLICT', { message })
}
