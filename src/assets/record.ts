// Turns rows of assets into the records that clients see.
import type { Asset } from '../../generated/types.ts'
import type { NewAsset } from '../db/assets/rows.ts'
import { readMetadata } from './metadata.ts'
import { thumbnailUrl } from './previews/thumbnail-keys.ts'
import { storageUri } from './storage-keys.ts'

/** The content type of folders. */
export const FOLDER_CONTENT_TYPE = 'folder'

/** The URL at which the bytes are read without any other credential, and its expiry. */
export interface DownloadLink {
  readonly download_url: string
  readonly expires_at: string
}

export function toAssetRecord(row: NewAsset, download: DownloadLink | null = null): Asset {
  const { id, user_id, workspace_id, parent_id, name, content_type, size, sha256 } = row
  const { workflow_id, job_id, node_id, created_at, updated_at } = row
  return {
    id,
    user_id,
    workspace_id,
    parent_id,
    name,
    content_type,
    size,
    sha256,
    metadata: readMetadata(row.metadata),
    workflow_id,
    job_id,
    node_id,
    created_at,
    updated_at,
    get_url: row.storage_key === null ? null : storageUri(row.storage_key),
    thumb_url: thumbnailUrl(row),
    download_url: download?.download_url ?? null,
    expires_at: download?.expires_at ?? null,
  }
}
