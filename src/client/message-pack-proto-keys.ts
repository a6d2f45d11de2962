// Supports MessagePack keys named `__proto__`, which the library refuses. A record has a member of that name like any other, as in JSON.
// The service reads such keys as well.
import { DecodeError, type DecoderOptions } from '@msgpack/msgpack'

const PROTO_KEY = '__proto__'
/** Replaces the key until the value is decoded. */
const STAND_IN = Symbol(PROTO_KEY)

const textDecoder = new TextDecoder()

const protoKeyOptions = {
  keyDecoder: {
    canBeCached: (length: number) => length === PROTO_KEY.length,
    decode(bytes: Uint8Array, from: number, length: number): string {
      const key = textDecoder.decode(bytes.subarray(from, from + length))
      return key === PROTO_KEY ? (STAND_IN as unknown as string) : key
    },
  },
  mapKeyConverter(key: unknown): string {
    if (key === STAND_IN || typeof key === 'string' || typeof key === 'number') return key as string
    throw new DecodeError('a key must be a string or a number')
  },
} satisfies DecoderOptions

/** Decodes a value. Where the library refuses a key, calls `decode` again with options that replace the key. */
export function decodeWithProtoKeys(decode: (options: DecoderOptions) => unknown): unknown {
  try {
    return decode({})
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    return restoreProtoKeys(decode(protoKeyOptions))
  }
}

/** Restores the replaced keys. */
function restoreProtoKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value
  for (const member of Object.values(value)) restoreProtoKeys(member)
  const record = value as { [STAND_IN]?: unknown }
  if (!Object.hasOwn(record, STAND_IN)) return value
  const own = { value: restoreProtoKeys(record[STAND_IN]), enumerable: true, writable: true, configurable: true }
  // Plain assignment would change the prototype.
  Object.defineProperty(record, PROTO_KEY, own)
  delete record[STAND_IN]
  return value
}
