// Builds the first rows of assets that have bytes.
import type { NewAsset } from '../db/assets/rows.ts'
import type { OwnerScope } from '../db/owner-scope.ts'
import { detectContentType, fileExtensionFor } from './content-type.ts'
import { cleanFileName } from './file-name.ts'
import { findPreviewTask } from './previews/tasks.ts'
import { assetStorageKey, contentKey } from './storage-keys.ts'

/** An asset that has bytes. */
export type StoredAsset = NewAsset & { sha256: string; storage_key: string; content_key: string }

/** The stored bytes that a row describes. */
export interface AssetContent {
  readonly size: number
  readonly sha256: string
  /** The first bytes: all of them, or more than SNIFFED_BYTES. */
  readonly head: Uint8Array
}

export interface AssetRowDetails {
  readonly id: string
  readonly now: string
  /** The claimed type; the bytes decide. */
  readonly content_type: string | null
  readonly name: string | null
  readonly parent_id?: string | null
  /** The value of the column. */
  readonly metadata?: string
  readonly workflow_id: string | null
  readonly job_id: string | null
  readonly node_id: string | null
}

/** Builds a row for bytes that are stored as content of the user. Without a name, the id becomes the name. */
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
