// Parses JSON text in parts. This file finds where the text can be cut, and the engine's own parser parses each part.
import type { Steps } from '../shared/time-slices.ts'
import { ValueBuilder } from './value-builder.ts'

/** Bytes of a part. Parsing a part takes less than a millisecond. */
const PART_BYTES = 32_768
/** A string of more bytes is itself parsed in parts. */
const LONG_TEXT = 8 * PART_BYTES
/** Bytes of the longest escape in a string, such as `\u00e9`. */
const ESCAPE = 6
/** Maximum number of continuation bytes of a UTF-8 character. */
const CONTINUED = 3

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const BRACKET = 0x5b
/** The kind of each byte outside of strings. */
const [OTHER, OPENING, CLOSING, SEPARATOR, NAMING, QUOTING] = [0, 1, 2, 3, 4, 5]
const KINDS = new Uint8Array(256).fill(OTHER)
for (const byte of [BRACKET, 0x7b]) KINDS[byte] = OPENING
for (const byte of [0x5d, 0x7d]) KINDS[byte] = CLOSING
KINDS[COMMA] = SEPARATOR
KINDS[COLON] = NAMING
KINDS[QUOTE] = QUOTING

/**
 * Parses JSON text in UTF-8 that is known to be JSON.
 * @throws SyntaxError if it is cut off, a part of it is invalid, or an object has more than `most_names` names
 */
export function* parseJsonSteps(bytes: Buffer, most_names = Number.POSITIVE_INFINITY): Steps<unknown> {
  const parts = new IncrementalJsonParser(bytes, most_names)
  for (let at = 0; at < bytes.length; ) {
    at = parts.scan(at, Math.min(at + PART_BYTES, bytes.length))
    yield
  }
  if (!parts.isWhole) throw new SyntaxError('the JSON text is cut off')
  return parts.value
}

/** A long string that is parsed in parts. */
interface LongText {
  /** The key of the string; null in a list. */
  readonly key: string | null
  readonly pieces: string[]
  /** Start of the part that is not parsed yet. */
  from: number
}

class IncrementalJsonParser {
  readonly #bytes: Buffer
  readonly #most_names: number
  readonly #assembly = new ValueBuilder()
  /** Number of open containers at the scanned offset. */
  #depth = 0
  /** By depth: the start of the container, and the start of its current member. */
  readonly #opened: number[] = [0]
  readonly #member: number[] = [0]
  /** By depth: the number of names so far, if the container is an object. */
  readonly #names: number[] = [0]
  /** Start of the part that is not parsed yet; null after a container that was built part by part. */
  #from: number | null = 0
  /** Offset of the last colon after a key. */
  #lastColon = 0
  #isInText = false
  /** Start of the current string, and its last escape. */
  #textStart = 0
  #lastEscape = 0
  /** The current string, if it is a long one. */
  #longText: LongText | null = null

  constructor(bytes: Buffer, most_names: number) {
    this.#bytes = bytes
    this.#most_names = most_names
  }

  /** Whether every container and string is closed. */
  get isWhole(): boolean {
    return this.#depth === 0 && !this.#isInText
  }

  get value(): unknown {
    return this.#assembly.root ?? this.#parseSlice('', 0, this.#bytes.length, '')
  }

  /** Scans from `at` to `end` or a little further, and returns the next offset. */
  scan(at: number, end: number): number {
    const bytes = this.#bytes
    while (at < end) {
      if (this.#isInText) {
        at = this.#skipString(at, end)
        continue
      }
      const kind = KINDS[bytes[at]!]
      if (kind === QUOTING) this.#open(at)
      else if (kind === OPENING) {
        this.#depth++
        this.#opened[this.#depth] = at
        this.#member[this.#depth] = at + 1
        this.#names[this.#depth] = 0
      } else if (kind === CLOSING) this.#close(at)
      else if (kind === SEPARATOR) this.#separate(at)
      else if (kind === NAMING) this.#countName(at)
      at++
    }
    this.#flushLargePart(at)
    if (this.#isInText) this.#readText(at)
    return at
  }

  #countName(at: number): void {
    this.#lastColon = at
    const count = (this.#names[this.#depth] ?? 0) + 1
    if (count > this.#most_names) throw new SyntaxError('an object has too many keys')
    this.#names[this.#depth] = count
  }

  #open(at: number): void {
    this.#isInText = true
    this.#textStart = at + 1
    this.#lastEscape = at
  }

  /** Returns the offset after the string, or an offset that is not before `end`. */
  #skipString(at: number, end: number): number {
    const bytes = this.#bytes
    for (; at < end; at++) {
      const byte = bytes[at]!
      if (byte === BACKSLASH) this.#lastEscape = at++
      else if (byte === QUOTE) {
        this.#isInText = false
        if (this.#longText) this.#endText(this.#longText, at)
        return at + 1
      }
    }
    return at
  }

  /** Parses the current string up to `at`, if it is a long one. */
  #readText(at: number): void {
    this.#longText ??= this.#beginText(at)
    if (this.#longText) this.#addPiece(this.#longText, this.#wholeCharacters(at))
  }

  /** Returns null for a string that need not be parsed in parts: it is short so far, a key, or the whole text. */
  #beginText(at: number): LongText | null {
    const level = this.#depth
    if (at - this.#textStart < LONG_TEXT || level !== this.#assembly.depth || level === 0 || this.#from === null)
      return null
    const member = this.#member[level]!
    const { isList } = this.#assembly
    if (!isList && this.#lastColon < member) return null
    if (member > this.#from) this.#flush(member - 1, member)
    this.#from = null
    return { key: isList ? null : this.#keyOf(member, this.#textStart - 1), pieces: [], from: this.#textStart }
  }

  /** Returns the offset at or shortly before `at` that cuts no escape and no character. */
  #wholeCharacters(at: number): number {
    if (at - this.#lastEscape < ESCAPE) return this.#lastEscape
    let start = at
    while (at - start < CONTINUED && (this.#bytes[start]! & 0xc0) === 0x80) start--
    return start
  }

  #addPiece(long: LongText, to: number): void {
    if (to <= long.from) return
    long.pieces.push(JSON.parse(`"${this.#bytes.toString('utf8', long.from, to)}"`) as string)
    long.from = to
  }

  #endText(long: LongText, at: number): void {
    this.#addPiece(long, at)
    this.#assembly.addMember(long.key, long.pieces.join(''))
    this.#longText = null
  }

  #separate(at: number): void {
    this.#member[this.#depth] = at + 1
    if (this.#depth !== this.#assembly.depth) return
    this.#from ??= at + 1
    if (at - this.#from >= PART_BYTES) this.#flush(at, at + 1)
  }

  #close(at: number): void {
    if (this.#depth === this.#assembly.depth) {
      if (this.#from !== null) this.#flush(at, null)
      this.#from = null
      this.#assembly.close()
    }
    this.#depth--
  }

  /** If the unparsed text is longer than a part, parses the complete members before `at`, and opens the container around `at`. */
  #flushLargePart(at: number): void {
    while (this.#from !== null && at - this.#from >= PART_BYTES && this.#depth > this.#assembly.depth) {
      const level = this.#assembly.depth
      const member = this.#member[level]!
      if (member > this.#from) this.#flush(member - 1, member)
      const opened = this.#opened[level + 1]!
      if (at - opened < PART_BYTES) return
      const key = level === 0 || this.#assembly.isList ? null : this.#keyOf(member, opened)
      this.#assembly.open(this.#bytes[opened] === BRACKET, key)
      this.#from = opened + 1
    }
  }

  #keyOf(from: number, to: number): string {
    const text = this.#bytes.toString('utf8', from, to)
    return JSON.parse(text.slice(0, text.lastIndexOf(':'))) as string
  }

  #flush(to: number, next: number | null): void {
    const [before, after] = this.#assembly.isList ? '[]' : '{}'
    const from = this.#from!
    const part = this.#parseSlice(before!, from, to, after!) as unknown[]
    // The estimate assumes as many members per byte as in this part.
    this.#assembly.addMembers(part, Math.ceil((part.length * (this.#bytes.length - to)) / Math.max(1, to - from)))
    this.#from = next
  }

  #parseSlice(before: string, from: number, to: number, after: string): unknown {
    // The text may begin with a byte order mark.
    const start = from === 0 && this.#bytes[0] === 0xef ? 3 : from
    return JSON.parse(before + this.#bytes.toString('utf8', start, to) + after)
  }
}
