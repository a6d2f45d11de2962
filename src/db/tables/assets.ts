// Tables of assets, their folders, and stored objects.

/** A file or a folder. The row of a folder has no digest and no keys. */
export interface AssetTable {
  /** Ascending: a newer asset has a higher key. Never shown. */
  key: number
  id: string
  user_id: string
  workspace_id: string | null
  parent_id: string | null
  name: string
  content_type: string
  size: number
  sha256: string | null
  /** The key under which the bytes are served: `<user>/<id>.<ext>`. */
  storage_key: string | null
  /** The key of the bytes in the object store: the same for equal content of one user. */
  content_key: string | null
  /** As `content_key`, for the thumbnail; null: there is none. */
  thumb_key: string | null
  metadata: string
  /** 1 once the content was read for its thumbnail and metadata. */
  previewed: number
  workflow_id: string | null
  job_id: string | null
  node_id: string | null
  created_at: string
  updated_at: string
}

/** A deleted folder whose contents are still to be removed. */
export interface DeletedFolderTable {
  user_id: string
  /** Empty outside of any. */
  workspace: string
  id: string
}

/** Bytes that a caller stored under a key. Assets have rows of their own. */
export interface ObjectTable {
  /** `<user>/…`, or `temp/<user>/…`. */
  storage_key: string
  user_id: string
  workspace_id: string | null
  /** The key of the bytes in the object store: the same for equal content of one user. */
  content_key: string
  content_type: string
  size: number
  sha256: string
  /** When a temporary object is no longer found. */
  expires_at: string | null
  created_at: string
  updated_at: string
}

export interface AssetTables {
  asset: AssetTable
  deleted_folder: DeletedFolderTable
  object: ObjectTable
}
