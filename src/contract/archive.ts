// Reads packed publications: the files of a gzipped tar archive, in memory.
import { gunzipSync } from 'node:zlib'

const BLOCK = 512
/** No publication comes near it; a small archive may claim to unpack to anything. */
const MAX_BYTES = 256 * 2 ** 20

/** The regular files of an archive by their names without folders. @throws Error where it is no such archive, or damaged */
export function readArchive(bytes: Uint8Array): Map<string, Buffer> {
  const tar = gunzipSync(bytes, { maxOutputLength: MAX_BYTES })
  const files = new Map<string, Buffer>()
  for (let at = 0; at + BLOCK <= tar.length; ) {
    const head = tar.subarray(at, at + BLOCK)
    if (head.every((byte) => byte === 0)) return files
    const size = octal(head.subarray(124, 136))
    if (!isHeader(head) || size === null) throw new Error('the archive is damaged')
    const start = at + BLOCK
    if (start + size > tar.length) throw new Error('the archive breaks off')
    const type = String.fromCharCode(head[156]!)
    if (type === '0' || type === '\0')
      files.set(text(head.subarray(0, 100)).split('/').at(-1)!, tar.subarray(start, start + size))
    at = start + Math.ceil(size / BLOCK) * BLOCK
  }
  throw new Error('the archive breaks off')
}

/** The sum of a header's bytes, its own field counted as spaces. */
function isHeader(head: Buffer): boolean {
  const sum = head.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0)
  return octal(head.subarray(148, 156)) === sum
}

function octal(field: Buffer): number | null {
  const digits = text(field).trim()
  return /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : null
}

function text(field: Buffer): string {
  const end = field.indexOf(0)
  return field.subarray(0, end < 0 ? field.length : end).toString('utf8')
}
