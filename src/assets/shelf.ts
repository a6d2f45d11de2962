// What the nodes of a job put among the assets of whoever the job belongs to, and look up there. Bytes are on disk before their row is committed.
import { setImmediate } from 'node:timers/promises'
import { type ListedRows, rowSteps } from '../db/asset-search.ts'
import { insertAsset, ownedAssetById } from '../db/assets.ts'
import type { AssetTable, JobTable } from '../db/schema.ts'
import { userKey } from '../db/scope.ts'
import type { Store, Tx } from '../db/store.ts'
import { NodeError } from '../engine/node-error.ts'
import type { AssetAccess, AssetQuery, AssetToSave, AssetValue } from '../engine/services.ts'
import { ServiceError } from '../errors.ts'
import { sha256 } from '../hashes.ts'
import type { Platform } from '../platform.ts'
import { cut } from '../short.ts'
import type { TimeSlices } from '../time-slices.ts'
import { kindOf } from './content-type.ts'
import type { Contents } from './contents.ts'
import { uriOf } from './keys.ts'
import { filterOf, ROOT } from './listing.ts'
import type { Previews } from './previews.ts'
import { FOLDER } from './record.ts'
import { storedRow } from './rows.ts'

export interface ShelfParts {
  readonly store: Store
  readonly slices: Pick<TimeSlices, 'begin'>
  readonly contents: Contents
  readonly platform: Pick<Platform, 'timestamp'>
  /** Looks at what is new. */
  readonly previews: Pick<Previews, 'added'>
}

/** Whose nodes they are. */
export type ShelfOwner = Pick<JobTable, 'user_id' | 'workspace_id' | 'id' | 'workflow_id'>

/** Another owner's folder is missing as one that never was. */
export function shelfOf(parts: ShelfParts, job: ShelfOwner): Pick<AssetAccess, 'save' | 'list'> {
  return { save: (asset) => save(parts, job, asset), list: (query, signal) => list(parts, job, query, signal) }
}

async function save({ store, contents, platform, previews }: ShelfParts, job: ShelfOwner, asset: AssetToSave) {
  const { name, content_type, node_id } = asset
  store.read((tx) => folderId(tx, job, asset.folder))
  using received = await contents.receive(asset.bytes).catch(later)
  const about = { content_type, name, node_id, job_id: job.id, workflow_id: job.workflow_id }
  const id = idOf(job, asset.once, received.sha256)
  try {
    contents.settle(job.user_id, received)
  } catch (error) {
    later(error)
  }
  const kept = await store
    .write((tx) => {
      const parent_id = folderId(tx, job, asset.folder)
      insertAsset(tx, storedRow(job, received, { ...about, id, parent_id, now: platform.timestamp() }))
      return ownedAssetById(tx, job, id)!
    })
    .catch((error) => {
      throw error instanceof ServiceError ? laterError(error) : error
    })
  if (kept.previewed === 0) previews.added(kept.user_id)
  return assetValue(kept)
}

/** Whatever keeps a store from taking bytes passes by itself, or has to be seen to by whoever reads the log; its cause is theirs alone. */
function later(cause: unknown): never {
  throw laterError(cause)
}

function laterError(cause: unknown): NodeError {
  const text =
    'The server cannot keep the file now. Run the workflow again later; if it still fails, whoever runs the server finds the cause in its log.'
  return new NodeError(text, 'unavailable', { cause })
}

/** The same content that is saved again for the same reason is the same asset, whatever became of its name since. */
function idOf({ user_id, workspace_id, id }: ShelfOwner, once: string, digest: string): string {
  return `asset_${sha256(JSON.stringify(['saved', user_id, workspace_id, id, once, digest])).slice(0, 32)}`
}

async function list(
  { store, slices }: ShelfParts,
  job: ShelfOwner,
  query: AssetQuery,
  signal: AbortSignal,
): Promise<AssetValue[]> {
  const { folder, content_type, name, limit } = query
  const filter = filterOf({ parent_id: folder, content_type, q: name })
  store.read((tx) => folderId(tx, job, folder))
  const values: AssetValue[] = []
  for (let before: number | null = null; before !== 0 && values.length < limit; ) {
    const wanted: number = limit - values.length
    const found: ListedRows = await slices.begin(userKey(job), rowSteps(store, job, filter, before, wanted))
    values.push(...found.rows.filter(({ storage_key }) => storage_key !== null).map(assetValue))
    before = found.reached
    await setImmediate()
    signal.throwIfAborted()
  }
  return values
}

/** The folder that is meant, null for the top level. @throws NodeError `folder_not_found` */
function folderId(tx: Tx, job: ShelfOwner, folder: string | null): string | null {
  if (folder === null || folder === ROOT) return null
  if (ownedAssetById(tx, job, folder)?.content_type === FOLDER) return folder
  throw new NodeError(`There is no folder with the id "${cut(folder, SHOWN)}".`, 'folder_not_found')
}

/** What an id shows of itself in an error. */
const SHOWN = 100

function assetValue({ id, storage_key, name, content_type, size, sha256 }: AssetTable): AssetValue {
  const type = kindOf(content_type)
  return { type, uri: uriOf(storage_key!), asset_id: id, content_type, size, sha256: sha256!, name }
}
