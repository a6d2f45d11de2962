// Lets the nodes of a job save and list assets of the job's owner. Bytes are on disk before their row is committed.
import { setImmediate } from 'node:timers/promises'
import { type AssetRowPage, findAssetRowsSteps } from '../db/assets/list-search.ts'
import { findOwnedAsset, insertAsset } from '../db/assets/rows.ts'
import { userShareKey } from '../db/owner-scope.ts'
import type { Store, Tx } from '../db/store.ts'
import type { AssetTable } from '../db/tables/assets.ts'
import type { JobTable } from '../db/tables/jobs.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import type { AssetAccess, AssetQuery, AssetToSave, AssetValue } from '../engine/node-api/services/assets.ts'
import { ServiceError } from '../errors.ts'
import type { Platform } from '../platform.ts'
import { sha256 } from '../shared/hashes.ts'
import { truncateText } from '../shared/text-truncation.ts'
import type { TimeSliceScheduler } from '../shared/time-slices.ts'
import { mediaKindOf } from './content-type.ts'
import { ROOT_FOLDER_ID, toAssetFilter } from './list-request.ts'
import { createAssetRow } from './new-asset-row.ts'
import type { PreviewScheduler } from './previews/scheduler.ts'
import { FOLDER_CONTENT_TYPE } from './record.ts'
import { storageUri } from './storage-keys.ts'
import type { BlobStore } from './stores/blob-store.ts'

export interface JobAssetAccessParts {
  readonly store: Store
  readonly slices: Pick<TimeSliceScheduler, 'begin'>
  readonly contents: BlobStore
  readonly platform: Pick<Platform, 'timestamp'>
  /** Generates previews of new assets. */
  readonly previews: Pick<PreviewScheduler, 'added'>
}

/** The job whose nodes have access. */
export type AssetOwnerJob = Pick<JobTable, 'user_id' | 'workspace_id' | 'id' | 'workflow_id'>

/** A folder of another owner is reported like a folder that does not exist. */
export function createJobAssetAccess(
  parts: JobAssetAccessParts,
  job: AssetOwnerJob,
): Pick<AssetAccess, 'save' | 'list'> {
  return {
    save: (asset) => saveAsset(parts, job, asset),
    list: (query, signal) => listAssets(parts, job, query, signal),
  }
}

async function saveAsset(
  { store, contents, platform, previews }: JobAssetAccessParts,
  job: AssetOwnerJob,
  asset: AssetToSave,
) {
  const { name, content_type, node_id } = asset
  store.read((tx) => requireFolderId(tx, job, asset.folder))
  using received = await contents.receive(asset.bytes).catch(throwUnavailable)
  const about = { content_type, name, node_id, job_id: job.id, workflow_id: job.workflow_id }
  const id = savedAssetId(job, asset.dedupe_key, received.sha256)
  try {
    contents.commit(job.user_id, received)
  } catch (error) {
    throwUnavailable(error)
  }
  const kept = await store
    .write((tx) => {
      const parent_id = requireFolderId(tx, job, asset.folder)
      insertAsset(tx, createAssetRow(job, received, { ...about, id, parent_id, now: platform.timestamp() }))
      return findOwnedAsset(tx, job, id)!
    })
    .catch((error) => {
      throw error instanceof ServiceError ? unavailableError(error) : error
    })
  if (kept.previewed === 0) previews.added(kept.user_id)
  return toAssetValue(kept)
}

/** A store refuses bytes for a reason that passes, or that the operator has to fix. Only the log shows the cause. */
function throwUnavailable(cause: unknown): never {
  throw unavailableError(cause)
}

function unavailableError(cause: unknown): NodeError {
  const text =
    'The server cannot store the file now. Run the workflow again later. If it still fails, ask the operator of the server: the log has the cause.'
  return new NodeError(text, 'unavailable', { cause })
}

/** The same content, saved again with the same `dedupe_key`, is the same asset, even if it was renamed since. */
function savedAssetId({ user_id, workspace_id, id }: AssetOwnerJob, dedupe_key: string, digest: string): string {
  return `asset_${sha256(JSON.stringify(['saved', user_id, workspace_id, id, dedupe_key, digest])).slice(0, 32)}`
}

async function listAssets(
  { store, slices }: JobAssetAccessParts,
  job: AssetOwnerJob,
  query: AssetQuery,
  signal: AbortSignal,
): Promise<AssetValue[]> {
  const { folder, content_type, name, limit } = query
  const filter = toAssetFilter({ parent_id: folder, content_type, q: name })
  store.read((tx) => requireFolderId(tx, job, folder))
  const values: AssetValue[] = []
  for (let before: number | null = null; before !== 0 && values.length < limit; ) {
    const wanted: number = limit - values.length
    const found: AssetRowPage = await slices.begin(
      userShareKey(job),
      findAssetRowsSteps(store, job, filter, before, wanted),
    )
    values.push(...found.rows.filter(({ storage_key }) => storage_key !== null).map(toAssetValue))
    before = found.reached
    await setImmediate()
    signal.throwIfAborted()
  }
  return values
}

/** Returns the id of the folder, or null for the top level. @throws NodeError `folder_not_found` */
function requireFolderId(tx: Tx, job: AssetOwnerJob, folder: string | null): string | null {
  if (folder === null || folder === ROOT_FOLDER_ID) return null
  if (findOwnedAsset(tx, job, folder)?.content_type === FOLDER_CONTENT_TYPE) return folder
  throw new NodeError(`There is no folder with the id "${truncateText(folder, SHOWN_CHARACTERS)}".`, 'folder_not_found')
}

/** Characters of an id that an error shows. */
const SHOWN_CHARACTERS = 100

function toAssetValue({ id, storage_key, name, content_type, size, sha256 }: AssetTable): AssetValue {
  const type = mediaKindOf(content_type)
  return { type, uri: storageUri(storage_key!), asset_id: id, content_type, size, sha256: sha256!, name }
}
