// How frames are sent: one MessagePack map in a binary frame, or one JSON object in a text frame.
import { Encoder } from '@msgpack/msgpack'
import { Shared } from '../events/shared.ts'
import { jsonText } from '../json.ts'

const encoder = new Encoder({ ignoreUndefined: true, maxDepth: 512 })

/** A frame as MessagePack: plain maps, no extensions, bytes as `bin`. */
export function encodeBinary(frame: unknown): Uint8Array {
  return encoder.encode(frame)
}

/** A frame as JSON text in UTF-8; bytes become base64. */
export function encodeText(frame: unknown): Uint8Array {
  return Buffer.from(jsonText(frame))
}

export type Mode = 'binary' | 'text'

const encoders: Readonly<Record<Mode, (frame: object) => Uint8Array>> = { binary: encodeBinary, text: encodeText }

const shared: Readonly<Record<Mode, Shared<object, Uint8Array>>> = {
  binary: new Shared(encodeBinary),
  text: new Shared(encodeText),
}

/** A frame in the given mode. One that is `common`, and never changes, is encoded once for all who are sent it. */
export function encode(frame: object, mode: Mode, common: boolean): Uint8Array {
  return common ? shared[mode].of(frame) : encoders[mode](frame)
}
