// Estimates from the bytes of a payload, before it is parsed, how much memory its value takes, and finds an object with too many keys.

import { appendToPointer } from '../shared/validation-problems.ts'
import { MAX_OBJECT_KEYS } from '../shared/value-limits.ts'
import { isByteStringHead, MalformedFrameError, type MessagePackItem, readItemAt } from './frame-structure-checks.ts'

export interface MemoryEstimate {
  /** Roughly the bytes of memory that the value takes. */
  readonly memory_bytes: number
  /** The JSON pointer to the first object with too many keys; null if there is none. The estimate stops there. */
  readonly crowded_at: string | null
}

/** Measured bytes of memory that the engine takes for each kind of value. */
const SLOT = 8
const OBJECT = 56
const LIST = 48
const TEXT = 24
const BYTES = 128
const FRACTION = 16
/** A key that occurs for the first time: its text, and the engine's records of the object shapes that have it. */
const NEW_KEY = 112

const QUOTE = 0x22
const COMMA = 0x2c
const POINT = 0x2e
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPENING_LIST = 0x5b
const CLOSING_LIST = 0x5d
const LOWER_E = 0x65
const OPENING_OBJECT = 0x7b
const CLOSING_OBJECT = 0x7d
/** A character with this byte or a higher one takes two bytes in memory, as do then all characters of its text. */
const WIDE = 0xc4

/** Number of hash values of keys. Two keys with the same hash count as one. */
const HASHES = 1 << 20

/** Maximum number of tracked levels. Deeper payloads are refused anyway, and their keys are not counted. */
const MOST_LEVELS = 66

/** Estimates the memory of JSON text. The parser checks whether it is JSON. */
export function estimateJsonMemory(bytes: Uint8Array): MemoryEstimate {
  return new JsonScanner(bytes).estimate()
}

class JsonScanner {
  readonly #bytes: Uint8Array
  readonly #seen = new Uint8Array(HASHES)
  /** By level: the number of begun members, and the start and end of the last key with its quotation marks. */
  readonly #members = new Float64Array(MOST_LEVELS)
  readonly #keyFrom = new Float64Array(MOST_LEVELS)
  readonly #keyTo = new Float64Array(MOST_LEVELS)
  #depth = 0
  #memory = SLOT
  /** Start, end and hash of the last text. */
  #from = 0
  #to = 0
  #hash = 0
  /** The memory without the last text. */
  #beforeText = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  estimate(): MemoryEstimate {
    const bytes = this.#bytes
    let crowded_at: string | null = null
    for (let at = 0; at < bytes.length && crowded_at === null; at++) {
      const byte = bytes[at]!
      if (byte === QUOTE) at = this.#text(at)
      else if (byte === COMMA) this.#memory += SLOT
      else if (byte === COLON) crowded_at = this.#key()
      else if (byte === OPENING_OBJECT) this.#open(OBJECT)
      else if (byte === OPENING_LIST) this.#open(LIST)
      else if (byte === CLOSING_OBJECT || byte === CLOSING_LIST) this.#depth = Math.max(0, this.#depth - 1)
      else if (byte === POINT || byte === LOWER_E) this.#memory += FRACTION
      if (byte === COMMA && this.#depth < MOST_LEVELS && this.#keyTo[this.#depth] === 0) this.#members[this.#depth]!++
    }
    return { memory_bytes: this.#memory, crowded_at }
  }

  #open(memory: number): void {
    this.#memory += memory
    this.#depth++
    if (this.#depth >= MOST_LEVELS) return
    this.#members[this.#depth] = 0
    this.#keyTo[this.#depth] = 0
  }

  /** Returns the offset of the closing quotation mark. */
  #text(start: number): number {
    const bytes = this.#bytes
    let [at, hash, characters, isWide] = [start + 1, 0, 0, false]
    for (; at < bytes.length; at++) {
      const byte = bytes[at]!
      if (byte === QUOTE) break
      hash = (Math.imul(hash, 31) + byte) | 0
      if (byte === BACKSLASH) hash = (Math.imul(hash, 31) + bytes[++at]!) | 0
      if ((byte & 0xc0) !== 0x80) characters++
      isWide ||= byte >= WIDE || byte === BACKSLASH
    }
    this.#from = start
    this.#to = at
    this.#hash = hash
    this.#beforeText = this.#memory
    this.#memory += TEXT + characters * (isWide ? 2 : 1)
    return at
  }

  /** Counts the last text as a key. Returns the pointer to its object if that has too many keys. */
  #key(): string | null {
    const [from, to] = [this.#from, this.#to]
    this.#memory = this.#beforeText
    const hash = this.#hash & (HASHES - 1)
    if (this.#seen[hash] === 0) {
      this.#seen[hash] = 1
      this.#memory += NEW_KEY + to - from
    }
    if (this.#depth >= MOST_LEVELS) return null
    this.#keyFrom[this.#depth] = from
    this.#keyTo[this.#depth] = to + 1
    return ++this.#members[this.#depth]! > MAX_OBJECT_KEYS ? this.#pointer() : null
  }

  #pointer(): string {
    let path = ''
    for (let level = 1; level < this.#depth; level++) {
      const to = this.#keyTo[level]!
      path = appendToPointer(
        path,
        to === 0 ? String(this.#members[level]) : decodeKey(this.#bytes, this.#keyFrom[level]!, to),
      )
    }
    return path
  }
}

function decodeKey(bytes: Uint8Array, from: number, to: number): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString()
  try {
    return String(JSON.parse(text)).toWellFormed()
  } catch {
    // The text is not JSON, which the parser would report for an object with fewer keys.
    return text.slice(1, -1)
  }
}

interface Level {
  readonly isMap: boolean
  readonly items: number
  begun: number
  /** Start of the last key. */
  key: number
}

const [STRING, NIL, STRING_8, STRING_32] = [0xa0, 0xc0, 0xd9, 0xdb]
const [FLOAT_32, FLOAT_64, INT_64] = [0xca, 0xcb, 0xd3]

const isList = (head: number) => (head & 0xf0) === 0x90 || head === 0xdc || head === 0xdd
const isText = (head: number) => (head >= STRING && head < NIL) || (head >= STRING_8 && head <= STRING_32)

/** Estimates the memory of MessagePack that is within the allowed depth. @throws MalformedFrameError */
export function estimateMessagePackMemory(data: Uint8Array): MemoryEstimate {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const seen = new Uint8Array(HASHES)
  const levels: Level[] = []
  let memory_bytes = SLOT
  for (let at = 0; ; ) {
    const level = levels.at(-1)
    if (level && level.begun === level.items) {
      levels.pop()
      if (levels.length === 0) break
      continue
    }
    const isKey = level?.isMap === true && level.begun % 2 === 0
    if (level) {
      level.begun++
      if (isKey) level.key = at
    }
    const item = readItemAt(view, at)
    memory_bytes += isKey ? keyMemory(data, seen, at, item.next) : itemMemory(data, at, item)
    if (item.members === null && levels.length === 0) break
    if (item.members !== null) {
      const isMap = !isList(data[at]!)
      if (isMap && item.members > 2 * MAX_OBJECT_KEYS)
        return { memory_bytes, crowded_at: levelPointer(data, view, levels) }
      // The data is too deep for a frame, which the decoder reports.
      if (levels.length === MOST_LEVELS) return { memory_bytes, crowded_at: null }
      levels.push({ isMap, items: item.members, begun: 0, key: at })
    }
    at = item.next
  }
  return { memory_bytes, crowded_at: null }
}

function itemMemory(data: Uint8Array, at: number, { next, members }: MessagePackItem): number {
  const head = data[at]!
  if (members !== null) return SLOT + (isList(head) ? LIST : OBJECT)
  if (isText(head)) return SLOT + TEXT + next - at
  if (isByteStringHead(head)) return SLOT + BYTES + next - at
  return (
    SLOT + (head >= FLOAT_32 && head <= INT_64 ? FRACTION : 0) + (head === FLOAT_64 ? 0 : Math.max(0, next - at - 9))
  )
}

function keyMemory(data: Uint8Array, seen: Uint8Array, from: number, to: number): number {
  let hash = 0
  for (let at = from; at < to; at++) hash = (Math.imul(hash, 31) + data[at]!) | 0
  hash &= HASHES - 1
  if (seen[hash] === 1) return 0
  seen[hash] = 1
  return NEW_KEY + to - from
}

function levelPointer(data: Uint8Array, view: DataView, levels: readonly Level[]): string {
  return levels.reduce((path, { isMap, begun, key }) => {
    const { next } = readItemAt(view, key)
    const name = isMap ? decodeName(data, key, next) : String(begun - 1)
    return appendToPointer(path, name)
  }, '')
}

function decodeName(data: Uint8Array, from: number, to: number): string {
  const head = data[from]!
  if (!isText(head)) return String(head)
  const skipped = head < NIL ? 1 : 2 ** (head - STRING_8) + 1
  return Buffer.from(data.buffer, data.byteOffset + from + skipped, to - from - skipped).toString()
}

/** Estimates the memory of JSON or MessagePack. Malformed MessagePack counts as empty. */
export function estimatePayloadMemory(data: Uint8Array, binary: boolean): MemoryEstimate {
  if (!binary) return estimateJsonMemory(data)
  try {
    return estimateMessagePackMemory(data)
  } catch (error) {
    if (error instanceof MalformedFrameError) return { memory_bytes: 0, crowded_at: null }
    throw error
  }
}
