// Keys of thumbnails. A thumbnail is served next to its asset, under the owner of the asset.
import { encodeKeySegment, storageUri } from '../storage-keys.ts'

/** Comes after the id of the asset. No asset's own key ends like this. */
const THUMBNAIL_SUFFIX = '.thumb.webp'

export interface ThumbnailRow {
  readonly id: string
  readonly user_id: string
  /** The key of the thumbnail's bytes, null if there is none. */
  readonly thumb_key: string | null
}

/** Returns the key under which the thumbnail of an asset is served. */
export function thumbnailStorageKey({ id, user_id }: Omit<ThumbnailRow, 'thumb_key'>): string {
  return `${encodeKeySegment(user_id)}/${id}${THUMBNAIL_SUFFIX}`
}

/** Returns the URL path of an asset's thumbnail, or null if there is none. */
export function thumbnailUrl(row: ThumbnailRow): string | null {
  return row.thumb_key === null ? null : storageUri(thumbnailStorageKey(row))
}

/**
 * Returns the id of the asset whose thumbnail a key names, or null for any other key. The caller compares the owner of the asset with the
 * key.
 */
export function parseThumbnailKey(storage_key: string): string | null {
  return storage_key.endsWith(THUMBNAIL_SUFFIX)
    ? storage_key.slice(storage_key.indexOf('/') + 1, -THUMBNAIL_SUFFIX.length)
    : null
}
