// Decodes frames: one MessagePack map in a binary frame, or one JSON object in a text frame.
import { DecodeError, decode, ExtensionCodec } from '@msgpack/msgpack'
import { decodeWithProtoKeys } from '../client/message-pack-proto-keys.ts'
import type { Problem } from '../errors.ts'
import { MAX_JSON_DEPTH } from '../shared/json.ts'
import { findIllFormedTexts } from '../shared/validation-problems.ts'
import {
  hasOnlyUtf8Texts,
  isJsonDeeperThan,
  isMessagePackDeeperThan,
  MalformedFrameError,
  TooManyValuesError,
} from './frame-structure-checks.ts'
import { findWideIntegersInMessagePack, findWideIntegersInUtf8 } from './wide-integers.ts'

/** A frame cannot be read. The message may be shown. */
export class FrameDecodeError extends Error {}

const TIMESTAMP = -1

/** Decodes the timestamp extension as an RFC 3339 string, which the rest of the service uses, and rejects all other extensions. */
class TimestampCodec extends ExtensionCodec {
  override decode(data: Uint8Array, type: number): string {
    if (type === TIMESTAMP) return readTimestamp(data)
    throw new FrameDecodeError(`the MessagePack extension ${type} is not known`)
  }
}

const extensions = new TimestampCodec()

function readTimestamp(data: Uint8Array): string {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const [seconds, nanoseconds] = readTimestampParts(view)
  const ms = seconds * 1000 + Math.floor(nanoseconds / 1e6)
  const date = new Date(ms)
  if (Number.isNaN(date.getTime())) throw new FrameDecodeError('a timestamp is out of range')
  return date.toISOString()
}

function readTimestampParts(view: DataView): [number, number] {
  if (view.byteLength === 4) return [view.getUint32(0), 0]
  if (view.byteLength === 8) {
    const high = view.getUint32(0)
    return [(high & 0x3) * 0x1_0000_0000 + view.getUint32(4), high >>> 2]
  }
  if (view.byteLength === 12) return [Number(view.getBigInt64(4)), view.getUint32(0)]
  throw new FrameDecodeError('a timestamp has a wrong length')
}

/** Decodes a frame. The value may have any shape. @throws FrameDecodeError */
export function decodeFrame(data: Uint8Array, binary: boolean): unknown {
  return binary ? decodeBinary(data) : decodeText(data)
}

/** Returns the values of a decoded frame that would be stored as different ones: texts that are no Unicode, and integers beyond 2^53. */
export function findInexactValues(message: unknown, data: Buffer, binary: boolean): Problem[] {
  const texts = findIllFormedFrameTexts(message, data, binary)
  if (texts.length > 0) return texts
  return binary ? findWideIntegersInMessagePack(data) : findWideIntegersInUtf8(data, '')
}

function findIllFormedFrameTexts(message: unknown, data: Buffer, binary: boolean): Problem[] {
  if (!mayHoldIllFormedText(data, binary)) return []
  const problems = findIllFormedTexts(message, '')
  // A replacement character from the decoder looks the same as one from the sender.
  return binary && problems.length === 0 ? [NOT_UTF8] : problems
}

const NOT_UTF8: Problem = { path: '', message: 'has a text that is not UTF-8' }

/** In JSON only an escape can make half a character; in MessagePack only bytes that are not UTF-8 can. */
export function mayHoldIllFormedText(data: Buffer, binary: boolean): boolean {
  return binary ? !hasOnlyUtf8Texts(data) : data.includes('\\ud') || data.includes('\\uD')
}

/** Decodes MessagePack whose depth was checked. */
export function decodeMessagePack(data: Uint8Array): unknown {
  return decodeWithProtoKeys((options) => decode(data, { ...options, extensionCodec: extensions }))
}

function decodeBinary(data: Uint8Array): unknown {
  try {
    if (isMessagePackDeeperThan(data, MAX_JSON_DEPTH)) throw tooDeepError()
    return decodeMessagePack(data)
  } catch (error) {
    if (error instanceof FrameDecodeError) throw error
    if (error instanceof TooManyValuesError) throw new FrameDecodeError(`the frame has more than ${error.message}`)
    const why = error instanceof MalformedFrameError || error instanceof DecodeError ? `: ${error.message}` : ''
    throw new FrameDecodeError(`the frame is not MessagePack${why}`)
  }
}

function decodeText(data: Uint8Array): unknown {
  if (isJsonDeeperThan(data, MAX_JSON_DEPTH)) throw tooDeepError()
  try {
    return JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('utf8'))
  } catch {
    throw new FrameDecodeError('the frame is not JSON')
  }
}

function tooDeepError(): FrameDecodeError {
  return new FrameDecodeError(`the frame is nested deeper than ${MAX_JSON_DEPTH} levels`)
}
