// Large media in the minimal server: kept as files, and referred to.
import { createHash, randomUUID } from 'node:crypto'
import type { Defect } from './defects.ts'
import type { Doc } from './documents.ts'

export const MOST_INLINE = 16_384

export interface File {
  bytes: Buffer
  content_type: string
}

/** A value with each large `data:` address replaced by that of a file. */
export function withFiles(value: Doc, files: Map<string, File>): Doc {
  if (Array.isArray(value)) return value.map((item) => withFiles(item, files))
  if (typeof value !== 'object' || value === null) return value
  const [, content_type, text] = /^data:([^;,]+);base64,(.*)$/s.exec(String(value.uri)) ?? []
  const bytes = Buffer.from(text ?? '', 'base64')
  if (content_type === undefined || bytes.length <= MOST_INLINE) {
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withFiles(member, files)]))
  }
  const asset_id = randomUUID()
  const key = `temp/1/${asset_id}`
  files.set(key, { bytes, content_type })
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return { ...value, uri: `/api/storage/${key}`, asset_id, content_type, size: bytes.length, sha256 }
}

/** Every file that the outputs refer to, with its place. */
export function assetsOf(outputs: Doc, { has }: { has: (defect: Defect) => boolean }): Doc[] {
  const found: Doc[] = []
  const look = (value: Doc, output_name: string, path: (string | number)[]): void => {
    if (typeof value !== 'object' || value === null) return
    if (typeof value.asset_id === 'string' && value.sha256 !== undefined) {
      const { asset_id, uri, content_type, size } = value
      const sha256 = has('other-digest') ? '0'.repeat(64) : value.sha256
      const asset = { asset_id, uri, name: null, content_type, size, sha256, download_url: null, expires_at: null }
      found.push({ output_name, path, asset })
    }
    for (const [key, member] of Object.entries<Doc>(value))
      look(member, output_name, [...path, Array.isArray(value) ? Number(key) : key])
  }
  for (const [name, value] of Object.entries<Doc>(outputs)) look(value, name, [])
  return found
}
