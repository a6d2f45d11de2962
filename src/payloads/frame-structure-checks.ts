// How deep a frame is nested, and whether its texts are UTF-8, found on its bytes. Before anything is built from them: a decoder believes the lengths
// that a frame claims, so that a hundred bytes can ask for gigabytes of arrays. What passes here is no larger than it looks.

import { isUtf8 } from 'node:buffer'
import { MAX_FILES_PER_VALUE } from '../shared/value-limits.ts'

/** Thrown where MessagePack ends before what it announces, or has a head byte that means nothing. */
export class MalformedFrameError extends Error {}

/** Thrown where MessagePack has more values, or byte strings, than a frame may have; the message says which. */
export class TooManyValuesError extends Error {}

/** As many values as JSON of 32 MiB can have. In MessagePack a byte is enough for one, and a list of them takes eight times as much memory. */
const MOST_VALUES = 16_777_216

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENING = new Set([0x5b, 0x7b])
const CLOSING = new Set([0x5d, 0x7d])

/** Whether JSON text goes deeper than `levels`. Whether it is JSON at all is the parser's business. */
export function isJsonDeeperThan(data: Uint8Array, levels: number): boolean {
  let depth = 0
  let quoted = false
  for (let at = 0; at < data.length; at++) {
    const byte = data[at]!
    if (byte === QUOTE) quoted = !quoted
    else if (quoted) at += byte === BACKSLASH ? 1 : 0
    else if (OPENING.has(byte) && ++depth > levels) return true
    else if (CLOSING.has(byte)) depth--
  }
  return false
}

/**
 * Whether MessagePack goes deeper than `levels`. Bytes behind the first item are the decoder's business.
 * @throws BrokenFrame, TooMany
 */
export function isMessagePackDeeperThan(data: Uint8Array, levels: number): boolean {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  /** How many items are to come at each level. */
  const left = [1]
  let values = 0
  let files = 0
  for (let at = 0; left.length > 0; ) {
    if (left.at(-1) === 0) {
      left.pop()
      continue
    }
    left[left.length - 1]!--
    if (++values > MOST_VALUES) throw createTooManyError(MOST_VALUES, 'values')
    const { next, members } = readItemAt(view, at)
    if (isByteStringHead(data[at]!) && ++files > MAX_FILES_PER_VALUE)
      throw createTooManyError(MAX_FILES_PER_VALUE, 'byte strings')
    // Every member takes a byte at least.
    if (next + (members ?? 0) > data.length) throw new MalformedFrameError('the frame ends too early')
    at = next
    if (members === null) continue
    if (left.length > levels) return true
    left.push(members)
  }
  return false
}

/** The number is written when it is needed: the first one of a language takes long to write. */
function createTooManyError(most: number, what: string): TooManyValuesError {
  return new TooManyValuesError(`${most.toLocaleString('en')} ${what}`)
}

/** Whether all texts of MessagePack are UTF-8, keys as well: of others the decoder makes some other text. It is known to be whole. */
export function hasOnlyUtf8Texts(data: Uint8Array): boolean {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  for (let at = 0; at < data.length; ) {
    const { next } = readItemAt(view, at)
    let from = findTextStart(data, at) ?? next
    while (from < next && data[from]! < BEYOND_ASCII) from++
    if (from < next && !isUtf8(data.subarray(from, next))) return false
    at = next
  }
  return true
}

/** Where the bytes of the text begin that is at a place; null where it is none. */
function findTextStart(data: Uint8Array, at: number): number | null {
  const head = data[at]!
  if (head >= STRING && head < NIL) return at + 1
  return head >= STRING_8 && head <= STRING_32 ? at + 1 + 2 ** (head - STRING_8) : null
}

/** Whether a head is that of a byte string. */
export const isByteStringHead = (head: number) => head >= BYTES_8 && head <= BYTES_32

export interface MessagePackItem {
  /** Where the next item begins; for a container its first member. */
  next: number
  /** How many items it holds; null where it is not a container. */
  members: number | null
}

const BEYOND_ASCII = 0x80
const MAP = 0x80
const ARRAY = 0x90
const STRING = 0xa0
const NIL = 0xc0
const BYTES_8 = 0xc4
const BYTES_32 = 0xc6
const STRING_8 = 0xd9
const STRING_32 = 0xdb
const ARRAY_16 = 0xdc
const MAP_16 = 0xde
const NEGATIVE = 0xe0

/** From 0xc0 to 0xdf: how many bytes stand behind the head besides those that a length announces; null is no head. */
const FIXED = [
  ...[0, null, 0, 0],
  ...[0, 0, 0, 1, 1, 1],
  ...[4, 8, 1, 2, 4, 8, 1, 2, 4, 8],
  ...[2, 3, 5, 9, 17],
  ...[0, 0, 0, 0, 0, 0, 0],
]
/** From 0xc0 to 0xdf: how wide the length is. */
const LENGTH_WIDTH = [
  ...[0, 0, 0, 0],
  ...[1, 2, 4, 1, 2, 4],
  ...[0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
  ...[0, 0, 0, 0, 0],
  ...[1, 2, 4, 2, 4, 2, 4],
]

/** The item that begins at a place. @throws BrokenFrame */
export function readItemAt(view: DataView, at: number): MessagePackItem {
  if (at >= view.byteLength) throw new MalformedFrameError('the frame ends too early')
  const head = view.getUint8(at)
  if (head < MAP || head >= NEGATIVE) return { next: at + 1, members: null }
  if (head < ARRAY) return { next: at + 1, members: (head - MAP) * 2 }
  if (head < STRING) return { next: at + 1, members: head - ARRAY }
  if (head < NIL) return { next: at + 1 + head - STRING, members: null }
  const fixed = FIXED[head - NIL]
  if (fixed === null || fixed === undefined) throw new MalformedFrameError('a byte means nothing')
  const width = LENGTH_WIDTH[head - NIL]!
  const length = readLengthAt(view, at + 1, width)
  const next = at + 1 + width
  if (head >= MAP_16) return { next, members: length * 2 }
  if (head >= ARRAY_16) return { next, members: length }
  return { next: next + fixed + length, members: null }
}

function readLengthAt(view: DataView, at: number, width: number): number {
  if (width === 0) return 0
  if (at + width > view.byteLength) throw new MalformedFrameError('the frame ends too early')
  if (width === 1) return view.getUint8(at)
  return width === 2 ? view.getUint16(at) : view.getUint32(at)
}
