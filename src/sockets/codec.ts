// How frames travel: one MessagePack map in a binary frame, or one JSON object in a text frame. Both are accepted at any time.
import { decode, Encoder, ExtensionCodec } from '@msgpack/msgpack'

/** Thrown for a frame that cannot be read; the message may be shown. */
export class InvalidFrame extends Error {}

const MAX_DEPTH = 64

// The timestamp extension is the one that is read, as the RFC 3339 string that the rest of the service uses.
const extensions = new ExtensionCodec()
extensions.register({ type: -1, encode: () => null, decode: (data) => readTimestamp(data) })

function readTimestamp(data: Uint8Array): string {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const [seconds, nanoseconds] = readParts(view)
  const ms = seconds * 1000 + Math.floor(nanoseconds / 1e6)
  const date = new Date(ms)
  if (Number.isNaN(date.getTime())) throw new InvalidFrame('a timestamp is out of range')
  return date.toISOString()
}

function readParts(view: DataView): [number, number] {
  if (view.byteLength === 4) return [view.getUint32(0), 0]
  if (view.byteLength === 8) {
    const high = view.getUint32(0)
    return [(high & 0x3) * 0x1_0000_0000 + view.getUint32(4), high >>> 2]
  }
  if (view.byteLength === 12) return [Number(view.getBigInt64(4)), view.getUint32(0)]
  throw new InvalidFrame('a timestamp has a wrong length')
}

/** Reads a frame. The value is whatever the peer sent; nothing is known of its shape. @throws InvalidFrame */
export function decodeFrame(data: Buffer, binary: boolean): unknown {
  const value = binary ? decodeBinary(data) : decodeText(data)
  if (deeperThan(value, MAX_DEPTH)) throw new InvalidFrame(`the frame is nested deeper than ${MAX_DEPTH} levels`)
  return value
}

function decodeBinary(data: Buffer): unknown {
  try {
    return decode(data, { extensionCodec: extensions })
  } catch (error) {
    if (error instanceof InvalidFrame) throw error
    throw new InvalidFrame('the frame is not MessagePack')
  }
}

function decodeText(data: Buffer): unknown {
  try {
    return JSON.parse(data.toString('utf8'))
  } catch {
    throw new InvalidFrame('the frame is not JSON')
  }
}

function deeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return false
  if (levels === 0) return true
  return Object.values(value).some((member) => deeperThan(member, levels - 1))
}

const encoder = new Encoder({ ignoreUndefined: true, maxDepth: 512 })

/** A frame as MessagePack: plain maps, no extensions, bytes as `bin`. */
export function encodeBinary(frame: unknown): Uint8Array {
  return encoder.encode(frame)
}

/** A frame as JSON text; bytes become base64. */
export function encodeText(frame: unknown): string {
  return JSON.stringify(frame, bytesAsBase64)
}

// `this[key]` is the value before a Buffer's own toJSON has turned it into a list of numbers.
function bytesAsBase64(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const bytes = this[key]
  return bytes instanceof Uint8Array ? Buffer.from(bytes).toString('base64') : value
}
