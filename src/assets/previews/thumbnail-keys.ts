// Where the small pictures of assets are served: next to the asset, under its owner.
import { encodeKeySegment, storageUri } from '../storage-keys.ts'

/** What stands behind an asset's id; no asset's own key ends so. */
const THUMBNAIL_SUFFIX = '.thumb.webp'

export interface ThumbnailRow {
  readonly id: string
  readonly user_id: string
  /** The key of the picture's bytes, null where there is none. */
  readonly thumb_key: string | null
}

/** The key under which an asset's small picture is served. */
export function thumbnailStorageKey({ id, user_id }: Omit<ThumbnailRow, 'thumb_key'>): string {
  return `${encodeKeySegment(user_id)}/${id}${THUMBNAIL_SUFFIX}`
}

/** Where an asset's small picture is read, or null where there is none. */
export function thumbnailUrl(row: ThumbnailRow): string | null {
  return row.thumb_key === null ? null : storageUri(thumbnailStorageKey(row))
}

/** The id of the asset whose small picture a key names, or null for every other key. Whose asset it is, is to be compared with the key. */
export function parseThumbnailKey(storage_key: string): string | null {
  return storage_key.endsWith(THUMBNAIL_SUFFIX)
    ? storage_key.slice(storage_key.indexOf('/') + 1, -THUMBNAIL_SUFFIX.length)
    : null
}
