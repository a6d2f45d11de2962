// The publication's index: every file with its digest, and one digest of all.
import { createHash } from 'node:crypto'

/** By the end of a name. The first match counts. */
const CONTENT_TYPES: readonly (readonly [end: string, content_type: string])[] = [
  ['.json', 'application/json'],
  ['', 'text/plain'],
]

/** Returns the text of the index of these files. */
export function createIndexText(contract_version: string, contents: ReadonlyMap<string, string>): string {
  const files = [...contents]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, text]) => ({
      name,
      content_type: CONTENT_TYPES.find(([end]) => name.endsWith(end))![1],
      size: Buffer.byteLength(text),
      sha256: sha256(text),
    }))
  const lines = files.map((file) => `${file.sha256}  ${file.name}\n`)
  return `${JSON.stringify({ version: 1, contract_version, digest: sha256(lines.join('')), files }, null, 1)}\n`
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
