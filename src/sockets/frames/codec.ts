// Encodes frames: a MessagePack map in a binary frame, or a JSON object in a text frame.
import { Encoder } from '@msgpack/msgpack'
import { DerivedValueCache } from '../../events/derived-value-cache.ts'
import { stringifyWithBase64 } from '../../shared/json.ts'

const encoder = new Encoder({ ignoreUndefined: true, maxDepth: 512 })

/** Encodes MessagePack: plain maps, no extensions, bytes as `bin`. */
export function encodeBinary(frame: unknown): Uint8Array {
  return encoder.encode(frame)
}

/** Encodes JSON in UTF-8; bytes become base64. */
export function encodeText(frame: unknown): Uint8Array {
  return Buffer.from(stringifyWithBase64(frame))
}

export type FrameMode = 'binary' | 'text'

const encoders: Readonly<Record<FrameMode, (frame: object) => Uint8Array>> = { binary: encodeBinary, text: encodeText }

const sharedEncodings: Readonly<Record<FrameMode, DerivedValueCache<object, Uint8Array>>> = {
  binary: new DerivedValueCache(encodeBinary),
  text: new DerivedValueCache(encodeText),
}

/** Encodes a frame. A `common` frame, which never changes, is encoded once for all connections. */
export function encodeSocketFrame(frame: object, mode: FrameMode, common: boolean): Uint8Array {
  return common ? sharedEncodings[mode].get(frame) : encoders[mode](frame)
}
