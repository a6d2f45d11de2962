// Encodes and decodes the frames of the socket: MessagePack in binary frames, JSON in text frames.
import { decode, decodeTimestampExtension, ExtensionCodec, encode } from '@msgpack/msgpack'
import type { SocketEncoding } from '../../../generated/types.ts'
import { encodeArgument } from '../errors.ts'
import { isRecord, stringifyWithBase64, type UnknownRecord } from '../json-and-uuid.ts'
import { decodeWithProtoKeys } from '../message-pack-proto-keys.ts'

const TIMESTAMP_EXTENSION = -1

/** Times are strings on this socket, so a MessagePack timestamp is read as a string. Other extensions stay opaque. */
const extensionCodec = new ExtensionCodec()
extensionCodec.register({
  type: TIMESTAMP_EXTENSION,
  encode: () => null,
  decode(data) {
    const at = decodeTimestampExtension(data)
    return at instanceof Date ? at.toISOString() : at
  },
})

/** @throws INVALID_ARGUMENT */
export function encodeFrame(frame: UnknownRecord, encoding: SocketEncoding): Uint8Array | string {
  if (encoding === 'json-text') return stringifyWithBase64(frame)
  return encodeArgument('A value', () => encode(frame, { ignoreUndefined: true }))
}

/** Decodes a frame in either encoding. Null where it cannot be read. */
export function decodeFrame(data: Uint8Array | string): UnknownRecord | null {
  try {
    const frame: unknown = typeof data === 'string' ? JSON.parse(data) : decodeMessagePack(data)
    return isRecord(frame) ? frame : null
  } catch {
    return null
  }
}

function decodeMessagePack(data: Uint8Array): unknown {
  return decodeWithProtoKeys((options) => decode(data, { ...options, extensionCodec }))
}
