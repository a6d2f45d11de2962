// Presents the thumbnail of an asset as a file of its own.
import type { NewAsset } from '../db/assets/rows.ts'
import { readFindings } from './metadata.ts'
import { thumbnailStorageKey } from './previews/thumbnail-keys.ts'

type WithBytes = NewAsset & { sha256: string; storage_key: string; content_key: string }

/**
 * Returns the thumbnail that is served under a key. `row` is the asset with the id in the key. Returns null if the key is not that of its
 * thumbnail, or it has none.
 */
export function toThumbnailAsset(row: NewAsset | undefined, storage_key: string): WithBytes | null {
  if (row === undefined || row.thumb_key === null || thumbnailStorageKey(row) !== storage_key) return null
  const { thumb } = readFindings(row.metadata)
  const name = `${row.name.replace(/(?<=.)\.[^.]*$/, '')}.webp`
  return thumb ? { ...row, ...thumb, name, content_type: 'image/webp', storage_key, content_key: row.thumb_key } : null
}
