// JSON in one canonical form, so that equal values have equal text and equal hashes.
import { createHash } from 'node:crypto'

/** JSON text with sorted keys and no white space; properties that are undefined are left out (as RFC 8785, but for the spelling of numbers). */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const record = value as Record<string, unknown>
  const members = Object.keys(record)
    .sort()
    .filter((key) => record[key] !== undefined)
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(record[key])}`)
  return `{${members.join(',')}}`
}

/** SHA-256 of a text as 64 lower-case hexadecimal characters. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
