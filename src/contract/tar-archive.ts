// Reads packed publications: the files of a gzipped tar archive, in memory.
import { gunzipSync } from 'node:zlib'

const BLOCK_BYTES = 512
/** The limit protects against a small archive that unpacks to any size. Publications are far smaller. */
const MAX_UNPACKED_BYTES = 256 * 2 ** 20

/** Returns the regular files of an archive by their names without folders. @throws Error for a damaged archive, or another format */
export function readTarGzip(bytes: Uint8Array): Map<string, Buffer> {
  const tar = gunzipSync(bytes, { maxOutputLength: MAX_UNPACKED_BYTES })
  const files = new Map<string, Buffer>()
  for (let at = 0; at + BLOCK_BYTES <= tar.length; ) {
    const head = tar.subarray(at, at + BLOCK_BYTES)
    if (head.every((byte) => byte === 0)) return files
    const size = parseOctal(head.subarray(124, 136))
    if (!isValidHeader(head) || size === null) throw new Error('the archive is damaged')
    const start = at + BLOCK_BYTES
    if (start + size > tar.length) throw new Error('the archive is incomplete')
    const type = String.fromCharCode(head[156]!)
    if (type === '0' || type === '\0')
      files.set(readFieldText(head.subarray(0, 100)).split('/').at(-1)!, tar.subarray(start, start + size))
    at = start + Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES
  }
  throw new Error('the archive is incomplete')
}

/** Checks the sum of a header's bytes, with its own field counted as spaces. */
function isValidHeader(head: Buffer): boolean {
  const sum = head.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0)
  return parseOctal(head.subarray(148, 156)) === sum
}

function parseOctal(field: Buffer): number | null {
  const digits = readFieldText(field).trim()
  return /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : null
}

function readFieldText(field: Buffer): string {
  const end = field.indexOf(0)
  return field.subarray(0, end < 0 ? field.length : end).toString('utf8')
}
