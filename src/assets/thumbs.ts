// Where the small pictures of assets are served: next to the asset, under its owner.
import { keySegment, uriOf } from './keys.ts'

/** What stands behind an asset's id; no asset's own key ends so. */
const END = '.thumb.webp'

export interface ThumbRow {
  readonly id: string
  readonly user_id: string
  /** The key of the picture's bytes, null where there is none. */
  readonly thumb_key: string | null
}

/** The key under which an asset's small picture is served. */
export function thumbStorageKey({ id, user_id }: Omit<ThumbRow, 'thumb_key'>): string {
  return `${keySegment(user_id)}/${id}${END}`
}

/** Where an asset's small picture is read, or null where there is none. */
export function thumbUrl(row: ThumbRow): string | null {
  return row.thumb_key === null ? null : uriOf(thumbStorageKey(row))
}

/** The id of the asset whose small picture a key names, or null for every other key. Whose asset it is, is to be compared with the key. */
export function thumbnailed(storage_key: string): string | null {
  return storage_key.endsWith(END) ? storage_key.slice(storage_key.indexOf('/') + 1, -END.length) : null
}
