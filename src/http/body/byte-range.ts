// Parses the Range header (RFC 9110, section 14): a single range of bytes is served; all other ranges get the whole content.
import type { ByteRange } from '../../assets/stores/object-store.ts'

/** Each space matches in only one way: otherwise a header of a thousand spaces would take a third of a second. */
const RANGE_HEADER = /^\s*bytes\s*=\s*(?:(\d+)\s*)?-\s*(?:(\d+)\s*)?$/i

/**
 * The range that a header requests of `size` bytes, cut off at the end; `unsatisfiable` if it begins beyond the end. Null means the whole content:
 * several ranges, other units and malformed headers are ignored.
 */
export function parseByteRange(header: string, size: number): ByteRange | 'unsatisfiable' | null {
  const match = RANGE_HEADER.exec(header)
  if (!match) return null
  const [, first = '', last = ''] = match
  if (first === '') return parseSuffixRange(last, size)
  const start = Number(first)
  const end = last === '' ? Number.POSITIVE_INFINITY : Number(last)
  // A range that ends before it begins is malformed, not unsatisfiable.
  if (end < start) return null
  if (start >= size) return 'unsatisfiable'
  return { start, length: Math.min(end, size - 1) - start + 1 }
}

function parseSuffixRange(digits: string, size: number): ByteRange | 'unsatisfiable' | null {
  if (digits === '') return null
  const length = Math.min(Number(digits), size)
  if (Number(digits) === 0) return 'unsatisfiable'
  // The last bytes of an empty content are the whole content, which Content-Range cannot express.
  return size === 0 ? null : { start: size - length, length }
}
