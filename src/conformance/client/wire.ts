// How frames travel between the reference server and a client, and how they are shown in transcripts.
import { decode, encode } from '@msgpack/msgpack'
import { withAnyKeys } from '../../client/any-keys.ts'
import { isTooDeep } from '../nesting.ts'

export type Fields = Record<string, unknown>

/** `binary`: MessagePack; `text`: JSON. */
export type Mode = 'binary' | 'text'

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function encodeFrame(frame: Fields, mode: Mode): Uint8Array | string {
  return mode === 'text' ? JSON.stringify(frame) : encode(frame)
}

/** The frame, or null where it cannot be read, is nested too deep or is no map. */
export function decodeFrame(data: Buffer, binary: boolean): Fields | null {
  try {
    const value = binary ? withAnyKeys((options) => decode(data, options)) : JSON.parse(data.toString('utf8'))
    return isFields(value) && !isTooDeep(value) ? value : null
  } catch {
    return null
  }
}

/** Whether two JSON values are the same, whatever the order of their keys. */
export function sameJson(a: unknown, b: unknown): boolean {
  return canonical(a) === canonical(b)
}

/** JSON with sorted keys. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner) =>
    isFields(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  )
}
