// Rows of assets that have bytes, as they are first written.
import type { NewAsset } from '../db/assets/rows.ts'
import type { OwnerScope } from '../db/owner-scope.ts'
import { detectContentType, fileExtensionFor } from './content-type.ts'
import { cleanFileName } from './file-name.ts'
import { findPreviewTask } from './previews/tasks.ts'
import { assetStorageKey, contentKey } from './storage-keys.ts'

/** An asset that has bytes. */
export type StoredAsset = NewAsset & { sha256: string; storage_key: string; content_key: string }

/** What a row says of its bytes. */
export interface AssetContent {
  readonly size: number
  readonly sha256: string
  /** The first of them: all, or more than `LOOKED_AT`. */
  readonly head: Uint8Array
}

export interface AssetRowDetails {
  readonly id: string
  readonly now: string
  /** What is claimed; the bytes have the last word. */
  readonly content_type: string | null
  readonly name: string | null
  readonly parent_id?: string | null
  /** The column. */
  readonly metadata?: string
  readonly workflow_id: string | null
  readonly job_id: string | null
  readonly node_id: string | null
}

/** A row for bytes that are kept as content of the user. Without a name it is called by its id. */
export function createAssetRow(
  { user_id, workspace_id }: OwnerScope,
  kept: AssetContent,
  about: AssetRowDetails,
): StoredAsset {
  const { id, now } = about
  const { size, sha256 } = kept
  const given = cleanFileName(about.name ?? '')
  const content_type = detectContentType(kept.head, about.content_type, given)
  const extension = fileExtensionFor(content_type, given)
  return {
    id,
    user_id,
    workspace_id,
    parent_id: about.parent_id ?? null,
    name: given === '' ? `${id}.${extension}` : given,
    content_type,
    size,
    sha256,
    storage_key: assetStorageKey(user_id, id, extension),
    content_key: contentKey(user_id, sha256),
    thumb_key: null,
    metadata: about.metadata ?? '{}',
    previewed: findPreviewTask({ content_type, size }) ? 0 : 1,
    workflow_id: about.workflow_id,
    job_id: about.job_id,
    node_id: about.node_id,
    created_at: now,
    updated_at: now,
  }
}
