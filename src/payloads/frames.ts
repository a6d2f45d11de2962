// How frames are read: one MessagePack map in a binary frame, or one JSON object in a text frame.
import { DecodeError, decode, ExtensionCodec } from '@msgpack/msgpack'
import { withAnyKeys } from '../client/any-keys.ts'
import type { Problem } from '../errors.ts'
import { MAX_DEPTH } from '../json.ts'
import { illFormedTexts } from '../problems.ts'
import { BrokenFrame, binaryDeeperThan, TooMany, textDeeperThan, textsAreUtf8 } from './nesting.ts'
import { wideInMessagePack, wideInUtf8 } from './wide-integers.ts'

/** Thrown for a frame that cannot be read; the message may be shown. */
export class InvalidFrame extends Error {}

const TIMESTAMP = -1

/** Reads the timestamp extension, as the RFC 3339 string that the rest of the service uses, and no other. */
class TimestampsOnly extends ExtensionCodec {
  override decode(data: Uint8Array, type: number): string {
    if (type === TIMESTAMP) return readTimestamp(data)
    throw new InvalidFrame(`the MessagePack extension ${type} is not known`)
  }
}

const extensions = new TimestampsOnly()

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
export function decodeFrame(data: Uint8Array, binary: boolean): unknown {
  return binary ? decodeBinary(data) : decodeText(data)
}

/** What of a frame, which was read as `message`, would be stored as something else: texts that are no Unicode, and integers beyond 2^53. */
export function inexactIn(message: unknown, data: Buffer, binary: boolean): Problem[] {
  const texts = illFormedIn(message, data, binary)
  if (texts.length > 0) return texts
  return binary ? wideInMessagePack(data) : wideInUtf8(data, '')
}

function illFormedIn(message: unknown, data: Buffer, binary: boolean): Problem[] {
  if (!mayBeIllFormed(data, binary)) return []
  const problems = illFormedTexts(message, '')
  // What the decoder has put in the place of other bytes than UTF-8 cannot be told from what somebody wrote.
  return binary && problems.length === 0 ? [NOT_UTF8] : problems
}

const NOT_UTF8: Problem = { path: '', message: 'has a text that is not UTF-8' }

/** In JSON only an escape can make half a character, in MessagePack only bytes that are not UTF-8. */
export function mayBeIllFormed(data: Buffer, binary: boolean): boolean {
  return binary ? !textsAreUtf8(data) : data.includes('\\ud') || data.includes('\\uD')
}

/** The value of MessagePack that is known to be no deeper than it may be. */
export function decodeMessagePack(data: Uint8Array): unknown {
  return withAnyKeys((options) => decode(data, { ...options, extensionCodec: extensions }))
}

function decodeBinary(data: Uint8Array): unknown {
  try {
    if (binaryDeeperThan(data, MAX_DEPTH)) throw tooDeep()
    return decodeMessagePack(data)
  } catch (error) {
    if (error instanceof InvalidFrame) throw error
    if (error instanceof TooMany) throw new InvalidFrame(`the frame has more than ${error.message}`)
    const why = error instanceof BrokenFrame || error instanceof DecodeError ? `: ${error.message}` : ''
    throw new InvalidFrame(`the frame is not MessagePack${why}`)
  }
}

function decodeText(data: Uint8Array): unknown {
  if (textDeeperThan(data, MAX_DEPTH)) throw tooDeep()
  try {
    return JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('utf8'))
  } catch {
    throw new InvalidFrame('the frame is not JSON')
  }
}

function tooDeep(): InvalidFrame {
  return new InvalidFrame(`the frame is nested deeper than ${MAX_DEPTH} levels`)
}
