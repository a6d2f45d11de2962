// Checks the nesting and the UTF-8 of a frame on its bytes, before it is decoded. A decoder trusts the lengths in a frame, so a hundred
// bytes can request gigabytes of arrays. A frame that passes these checks is no larger than it looks.

import { isUtf8 } from 'node:buffer'
import { MAX_FILES_PER_VALUE } from '../shared/value-limits.ts'

/** MessagePack ends too early, or has an invalid head byte. */
export class MalformedFrameError extends Error {}

/** MessagePack has more values or byte strings than a frame may have; the message says which. */
export class TooManyValuesError extends Error {}

/** As many values as JSON of 32 MiB can have. In MessagePack a value may be one byte, and takes eight times as much memory in a list. */
const MOST_VALUES = 16_777_216

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENING = new Set([0x5b, 0x7b])
const CLOSING = new Set([0x5d, 0x7d])

/** Whether JSON text is nested deeper than `levels`. The parser checks whether it is JSON at all. */
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
 * Whether MessagePack is nested deeper than `levels`. The decoder checks bytes after the first item.
 * @throws MalformedFrameError, TooManyValuesError
 */
export function isMessagePackDeeperThan(data: Uint8Array, levels: number): boolean {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  /** The number of remaining items at each level. */
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
    // Every member takes at least one byte.
    if (next + (members ?? 0) > data.length) throw new MalformedFrameError('the frame ends too early')
    at = next
    if (members === null) continue
    if (left.length > levels) return true
    left.push(members)
  }
  return false
}

/** The number is formatted only when needed, because the first `toLocaleString` of a locale is slow. */
function createTooManyError(most: number, what: string): TooManyValuesError {
  return new TooManyValuesError(`${most.toLocaleString('en')} ${what}`)
}

/** Whether all texts and keys of MessagePack are UTF-8. The decoder would replace other bytes. The data has to be complete. */
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

/** Returns where the bytes of a text at `at` begin; null if the item is no text. */
function findTextStart(data: Uint8Array, at: number): number | null {
  const head = data[at]!
  if (head >= STRING && head < NIL) return at + 1
  return head >= STRING_8 && head <= STRING_32 ? at + 1 + 2 ** (head - STRING_8) : null
}

/** Whether a head byte is that of a byte string. */
export const isByteStringHead = (head: number) => head >= BYTES_8 && head <= BYTES_32

export interface MessagePackItem {
  /** Offset of the next item; for a container, of its first member. */
  next: number
  /** Number of items in a container; null for other items. */
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

/** For heads from 0xc0 to 0xdf: the number of bytes after the head, without those that a length announces; null for an invalid head. */
const FIXED = [
  ...[0, null, 0, 0],
  ...[0, 0, 0, 1, 1, 1],
  ...[4, 8, 1, 2, 4, 8, 1, 2, 4, 8],
  ...[2, 3, 5, 9, 17],
  ...[0, 0, 0, 0, 0, 0, 0],
]
/** For heads from 0xc0 to 0xdf: the width of the length. */
const LENGTH_WIDTH = [
  ...[0, 0, 0, 0],
  ...[1, 2, 4, 1, 2, 4],
  ...[0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
  ...[0, 0, 0, 0, 0],
  ...[1, 2, 4, 2, 4, 2, 4],
]

/** Reads the item at an offset. @throws MalformedFrameError */
export function readItemAt(view: DataView, at: number): MessagePackItem {
  if (at >= view.byteLength) throw new MalformedFrameError('the frame ends too early')
  const head = view.getUint8(at)
  if (head < MAP || head >= NEGATIVE) return { next: at + 1, members: null }
  if (head < ARRAY) return { next: at + 1, members: (head - MAP) * 2 }
  if (head < STRING) return { next: at + 1, members: head - ARRAY }
  if (head < NIL) return { next: at + 1 + head - STRING, members: null }
  const fixed = FIXED[head - NIL]
  if (fixed === null || fixed === undefined) throw new MalformedFrameError('a head byte is invalid')
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
