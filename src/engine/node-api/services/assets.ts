// The assets of the run's user.

export interface LoadedAsset {
  readonly bytes: Uint8Array
  /** Includes the parameters. */
  readonly content_type: string
  readonly name: string
}

/** A file stored as an asset, as values refer to it. */
export interface AssetValue {
  /** `image`, `audio`, `video`, `document`, `dataframe`, `model` or `file`. */
  readonly type: string
  /** `/api/storage/<key>`. */
  readonly uri: string
  readonly asset_id: string
  readonly content_type: string
  /** Bytes. */
  readonly size: number
  readonly sha256: string
  readonly name: string
}

export interface AssetToSave {
  readonly bytes: Uint8Array
  readonly name: string | null
  /** The claimed type; the type detected from the bytes takes precedence. */
  readonly content_type: string | null
  /** The id of a folder, or null for the top level. */
  readonly folder: string | null
  /** The node that saves the asset. */
  readonly node_id: string
  /** Within a run, the same content saved again with the same key is the same asset. */
  readonly dedupe_key: string
}

export interface AssetQuery {
  /** The id of a folder, `root` for the top level, or null for all. */
  readonly folder: string | null
  /** A full content type, a family such as `image`, or null for all. */
  readonly content_type: string | null
  /** A part of the name, regardless of case, or null. */
  readonly name: string | null
  readonly limit: number
}

export interface AssetAccess {
  /**
   * Loads an asset or a temporary upload of the run's user (`asset://<id>`, `/api/storage/<key>`), or a file of the service that all users
   * may read (`/api/assets/packages/<path>`). `onBytesHeld` reports changes of its bytes held in memory; the sum is 0 once it has arrived
   * or failed.
   * @throws NodeError `bad_reference`, `asset_not_found` (also for an expired asset or another user's), `too_large`, `unavailable`
   */
  load(reference: string, max_bytes: number, onBytesHeld?: (bytes: number) => void): Promise<LoadedAsset>
  /** Stores an asset; it is committed when the promise settles. @throws NodeError `folder_not_found`, `unavailable` */
  save(asset: AssetToSave): Promise<AssetValue>
  /** Lists assets without folders, the newest first. @throws NodeError `folder_not_found`, `unavailable`, and the signal's reason */
  list(query: AssetQuery, signal: AbortSignal): Promise<readonly AssetValue[]>
}
