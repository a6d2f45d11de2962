// How frames are sent: one MessagePack map in a binary frame, or one JSON object in a text frame.
import { Encoder } from '@msgpack/msgpack'
import { DerivedValueCache } from '../../events/derived-value-cache.ts'
import { stringifyWithBase64 } from '../../shared/json.ts'

const encoder = new Encoder({ ignoreUndefined: true, maxDepth: 512 })

/** A frame as MessagePack: plain maps, no extensions, bytes as `bin`. */
export function encodeBinary(frame: unknown): Uint8Array {
  return encoder.encode(frame)
}

/** A frame as JSON text in UTF-8; bytes become base64. */
export function encodeText(frame: unknown): Uint8Array {
  return Buffer.from(stringifyWithBase64(frame))
}

export type FrameMode = 'binary' | 'text'

const encoders: Readonly<Record<FrameMode, (frame: object) => Uint8Array>> = { binary: encodeBinary, text: encodeText }

const sharedEncodings: Readonly<Record<FrameMode, DerivedValueCache<object, Uint8Array>>> = {
  binary: new DerivedValueCache(encodeBinary),
  text: new DerivedValueCache(encodeText),
}

/** A frame in the given mode. One that is `common`, and never changes, is encoded once for all who are sent it. */
export function encodeSocketFrame(frame: object, mode: FrameMode, common: boolean): Uint8Array {
  return common ? sharedEncodings[mode].get(frame) : encoders[mode](frame)
}
