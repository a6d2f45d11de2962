// Encodes frames between the reference server and a client, and prints them in transcripts.
import { decode, encode } from '@msgpack/msgpack'
import { decodeWithProtoKeys } from '../../client/message-pack-proto-keys.ts'
import { isNestedTooDeep } from '../nesting-limit.ts'

export type JsonMap = Record<string, unknown>

/** `binary`: MessagePack; `text`: JSON. */
export type FrameMode = 'binary' | 'text'

export function isMap(value: unknown): value is JsonMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function encodeFrame(frame: JsonMap, mode: FrameMode): Uint8Array | string {
  return mode === 'text' ? JSON.stringify(frame) : encode(frame)
}

/** Decodes a frame. Null where it is unreadable, nested too deep or not a map. */
export function decodeFrame(data: Buffer, binary: boolean): JsonMap | null {
  try {
    const value = binary ? decodeWithProtoKeys((options) => decode(data, options)) : JSON.parse(data.toString('utf8'))
    return isMap(value) && !isNestedTooDeep(value) ? value : null
  } catch {
    return null
  }
}

/** Whether two JSON values are equal, whatever the order of their keys. */
export function isSameJson(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b)
}

/** JSON with sorted keys. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner) =>
    isMap(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  )
}
