// How assets are made. What can be refused by what is known of the request is refused before its bytes are read, and judged again in the step that
// writes the row.
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { contentInUse, insertAsset, type NewAsset } from '../db/assets.ts'
import { deleteAssetTree, keysOf } from '../db/deleted-folders.ts'
import type { Scope } from '../db/scope.ts'
import type { Store, Tx } from '../db/store.ts'
import type { Platform } from '../platform.ts'
import { keyOf } from './address.ts'
import { LOOKED_AT } from './content-type.ts'
import type { Contents } from './contents.ts'
import type { Files, FoundFile } from './files.ts'
import { type MakingRequest, refuse, refuseUnfit, requireDigest } from './judging.ts'
import { contentKey } from './keys.ts'
import { ownMetadata } from './metadata.ts'
import type { Source } from './object-store.ts'
import { missing, placeOf } from './places.ts'
import { FOLDER } from './record.ts'
import { type KeptBytes, storedRow } from './rows.ts'

export interface MakingParts {
  readonly store: Store
  readonly contents: Contents
  readonly files: Files
  readonly platform: Platform
}

/** A file that is being sent. */
export interface GivenFile {
  readonly name: string | null
  /** As it is claimed, null where that tells nothing. */
  readonly content_type: string | null
  /** Read once. What it throws breaks the asset off, and nothing of it is kept. */
  readonly bytes: Source
}

interface Claims {
  readonly name: string | null
  readonly content_type: string | null
}

/** A row that is made of what its place says. */
type RowIn = (place: { name: string | null; parent_id: string | null }) => NewAsset

export class Making {
  readonly #parts: MakingParts

  constructor(parts: MakingParts) {
    this.#parts = parts
  }

  /** Makes an asset of a file, of what `uri` names, or a folder, and gives its row. @throws see Library.create */
  async make(owner: Scope, request: MakingRequest, file: GivenFile | null): Promise<NewAsset> {
    refuseUnfit(request, file !== null)
    this.#parts.store.read((tx) => placeOf(tx, owner, request))
    if (request.content_type === FOLDER) return this.#write(owner, request, this.#folder(owner, request))
    return file ? this.#receive(owner, request, file) : this.#take(owner, request)
  }

  #folder({ user_id, workspace_id }: Scope, request: MakingRequest): RowIn {
    const now = this.#parts.platform.timestamp()
    const row = {
      id: this.#parts.platform.id('asset'),
      user_id,
      workspace_id,
      content_type: FOLDER,
      size: 0,
      sha256: null,
      storage_key: null,
      content_key: null,
      thumb_key: null,
      metadata: ownMetadata(request.metadata ?? {}),
      previewed: 1,
      workflow_id: request.workflow_id ?? null,
      job_id: null,
      node_id: request.node_id ?? null,
      created_at: now,
      updated_at: now,
    }
    return ({ name, parent_id }) => ({ ...row, name: name!, parent_id })
  }

  async #receive(owner: Scope, request: MakingRequest, file: GivenFile): Promise<NewAsset> {
    using received = await this.#parts.contents.receive(file.bytes)
    requireDigest(request, received.sha256)
    // Bytes without a row stay for an hour: there are none where this much is clear.
    this.#parts.store.read((tx) => placeOf(tx, owner, request))
    this.#parts.contents.settle(owner.user_id, received)
    return this.#write(owner, request, this.#stored(owner, request, received, file))
  }

  /** Of what the store has: shared where it is content of the user, else copied. */
  async #take(owner: Scope, request: MakingRequest): Promise<NewAsset> {
    const key = keyOf(request.uri!)
    if (key === null) refuse([{ path: '/body/uri', message: 'must be an address below /api/storage/' }])
    const file = await this.#parts.files.byKey(owner, key!)
    if (!file) throw missing('uri', NO_OBJECT)
    requireDigest(request, file.sha256)
    const head = await buffer(await opened(file, Math.min(file.size, LOOKED_AT + 1)))
    const row = this.#stored(owner, request, { size: file.size, sha256: file.sha256, head }, file)
    const content_key = contentKey(owner.user_id, file.sha256)
    const shared = await this.#writeWhere((tx) => contentInUse(tx, content_key), owner, request, row)
    if (shared) return shared
    const bytes = await opened(file, file.size)
    return this.#receive(owner, request, { name: file.name, content_type: file.content_type, bytes })
  }

  #stored(owner: Scope, request: MakingRequest, kept: KeptBytes, claims: Claims): RowIn {
    const { platform } = this.#parts
    const about = {
      id: platform.id('asset'),
      now: platform.timestamp(),
      content_type: request.content_type ?? claims.content_type,
      metadata: ownMetadata(request.metadata ?? {}),
      workflow_id: request.workflow_id ?? null,
      job_id: request.job_id ?? null,
      node_id: request.node_id ?? null,
    }
    return ({ name, parent_id }) => storedRow(owner, kept, { ...about, name: name ?? claims.name, parent_id })
  }

  /** Writes a row where it belongs, and removes what it replaces. */
  async #write(owner: Scope, request: MakingRequest, rowIn: RowIn): Promise<NewAsset> {
    const row = await this.#writeWhere(() => true, owner, request, rowIn)
    return row!
  }

  /** As `#write`, where `holds` says so in the same step; null where it does not. */
  async #writeWhere(
    holds: (tx: Tx) => boolean,
    owner: Scope,
    request: MakingRequest,
    rowIn: RowIn,
  ): Promise<NewAsset | null> {
    const written = await this.#parts.store.write((tx) => {
      if (!holds(tx)) return null
      const { name, parent_id, replaced } = placeOf(tx, owner, request)
      const row = rowIn({ name, parent_id })
      insertAsset(tx, row)
      const removed = replaced ? deleteAssetTree(tx, owner, replaced.id).removed : []
      return { row, removed }
    })
    if (!written) return null
    await this.#parts.contents.discard(keysOf(written.removed))
    return written.row
  }
}

const NO_OBJECT = 'There is no such object.'

async function opened(file: FoundFile, length: number): Promise<Readable> {
  const stream = await file.read({ start: 0, length })
  if (!stream) throw missing('uri', NO_OBJECT)
  return stream
}
