// What a payload holds, found on its bytes before anything is made of them: about how much memory its value takes, and whether an object
// in it has more keys than any may have.

import { appendToPointer } from '../shared/validation-problems.ts'
import { MAX_OBJECT_KEYS } from '../shared/value-limits.ts'
import { isByteStringHead, MalformedFrameError, type MessagePackItem, readItemAt } from './frame-structure-checks.ts'

export interface MemoryEstimate {
  /** About how many bytes of memory the value takes. */
  readonly memory_bytes: number
  /** The JSON pointer to the first object with too many keys; null where there is none. Behind it nothing was looked at. */
  readonly crowded_at: string | null
}

/** Bytes of memory, measured: what the engine takes for each. */
const SLOT = 8
const OBJECT = 56
const LIST = 48
const TEXT = 24
const BYTES = 128
const FRACTION = 16
/** A key that no object before had: its text, and what the engine keeps of the shapes that have it. */
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
/** From this byte on, a character takes two bytes in memory, and with it each other one of its text. */
const WIDE = 0xc4

/** Keys are looked up by a hash of so many bits: two that share one count as one. */
const HASHES = 1 << 20

/** What lies around the place that is looked at. Deeper than so many levels nothing is allowed, and keys are not counted. */
const MOST_LEVELS = 66

/** The contents of JSON text. Whether it is JSON is the parser's business. */
export function estimateJsonMemory(bytes: Uint8Array): MemoryEstimate {
  return new JsonScanner(bytes).estimate()
}

class JsonScanner {
  readonly #bytes: Uint8Array
  readonly #seen = new Uint8Array(HASHES)
  /** By level: how many members were begun, and where the last key begins and ends, with its quotation marks. */
  readonly #members = new Float64Array(MOST_LEVELS)
  readonly #keyFrom = new Float64Array(MOST_LEVELS)
  readonly #keyTo = new Float64Array(MOST_LEVELS)
  #depth = 0
  #memory = SLOT
  /** The last text. */
  #from = 0
  #to = 0
  #hash = 0
  /** The memory without it. */
  #beforeText = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  estimate(): MemoryEstimate {
    const bytes = this.#bytes
    let crowded: string | null = null
    for (let at = 0; at < bytes.length && crowded === null; at++) {
      const byte = bytes[at]!
      if (byte === QUOTE) at = this.#text(at)
      else if (byte === COMMA) this.#memory += SLOT
      else if (byte === COLON) crowded = this.#key()
      else if (byte === OPENING_OBJECT) this.#open(OBJECT)
      else if (byte === OPENING_LIST) this.#open(LIST)
      else if (byte === CLOSING_OBJECT || byte === CLOSING_LIST) this.#depth = Math.max(0, this.#depth - 1)
      else if (byte === POINT || byte === LOWER_E) this.#memory += FRACTION
      if (byte === COMMA && this.#depth < MOST_LEVELS && this.#keyTo[this.#depth] === 0) this.#members[this.#depth]!++
    }
    return { memory_bytes: this.#memory, crowded_at: crowded }
  }

  #open(memory: number): void {
    this.#memory += memory
    this.#depth++
    if (this.#depth >= MOST_LEVELS) return
    this.#members[this.#depth] = 0
    this.#keyTo[this.#depth] = 0
  }

  /** Gives the place of the quotation mark at the end. */
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

  /** The last text was a key. Gives the pointer to its object where that has too many. */
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
    // Not JSON, which is told by the parser of whatever has fewer keys.
    return text.slice(1, -1)
  }
}

interface Level {
  readonly isMap: boolean
  readonly items: number
  begun: number
  /** Where the last key begins. */
  key: number
}

const [STRING, NIL, STRING_8, STRING_32] = [0xa0, 0xc0, 0xd9, 0xdb]
const [FLOAT_32, FLOAT_64, INT_64] = [0xca, 0xcb, 0xd3]

const isList = (head: number) => (head & 0xf0) === 0x90 || head === 0xdc || head === 0xdd
const isText = (head: number) => (head >= STRING && head < NIL) || (head >= STRING_8 && head <= STRING_32)

/** The contents of MessagePack that is no deeper than it may be. @throws BrokenFrame */
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
      // Too deep for a frame, which its reader tells.
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

/** As `messagePackContents`, for what may be broken: then it holds nothing. */
export function estimatePayloadMemory(data: Uint8Array, binary: boolean): MemoryEstimate {
  if (!binary) return estimateJsonMemory(data)
  try {
    return estimateMessagePackMemory(data)
  } catch (error) {
    if (error instanceof MalformedFrameError) return { memory_bytes: 0, crowded_at: null }
    throw error
  }
}
