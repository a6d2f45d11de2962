// The small picture of an asset as a file of its own: what is served under its key.
import type { NewAsset } from '../db/assets/rows.ts'
import { readFindings } from './metadata.ts'
import { thumbnailStorageKey } from './previews/thumbnail-keys.ts'

type WithBytes = NewAsset & { sha256: string; storage_key: string; content_key: string }

/** The small picture that is served under a key, of an asset that was found by the id in it; null where that is not its key, or there is none. */
export function toThumbnailAsset(row: NewAsset | undefined, storage_key: string): WithBytes | null {
  if (row === undefined || row.thumb_key === null || thumbnailStorageKey(row) !== storage_key) return null
  const { thumb } = readFindings(row.metadata)
  const name = `${row.name.replace(/(?<=.)\.[^.]*$/, '')}.webp`
  return thumb ? { ...row, ...thumb, name, content_type: 'image/webp', storage_key, content_key: row.thumb_key } : null
}
