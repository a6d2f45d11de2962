// JSON text parsed in parts: the engine's own parser reads each part, and this file finds where parts may be cut.
import type { Steps } from '../time-slices.ts'
import { Assembly } from './assembly.ts'

/** Bytes of a part. Parsing one takes less than a millisecond. */
const PART = 32_768

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const BRACKET = 0x5b
/** By byte: what it is between strings. */
const [OTHER, OPENING, CLOSING, SEPARATOR, QUOTING] = [0, 1, 2, 3, 4]
const KINDS = new Uint8Array(256).fill(OTHER)
for (const byte of [BRACKET, 0x7b]) KINDS[byte] = OPENING
for (const byte of [0x5d, 0x7d]) KINDS[byte] = CLOSING
KINDS[COMMA] = SEPARATOR
KINDS[QUOTE] = QUOTING

/** The value of JSON text in UTF-8, which is known to be JSON. */
export function* parseJsonInParts(bytes: Buffer): Steps<unknown> {
  const parts = new JsonParts(bytes)
  for (let at = 0; at < bytes.length; ) {
    at = parts.scan(at, Math.min(at + PART, bytes.length))
    yield
  }
  return parts.value
}

class JsonParts {
  readonly #bytes: Buffer
  readonly #assembly = new Assembly()
  /** How many containers are open at the place that is scanned. */
  #depth = 0
  /** By depth: where the container begins, and where its present member does. */
  readonly #opened: number[] = [0]
  readonly #member: number[] = [0]
  /** Where the part that is not parsed yet begins; null behind a container that was filled part by part. */
  #from: number | null = 0
  #quoted = false

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get value(): unknown {
    return this.#assembly.root ?? this.#parsed('', 0, this.#bytes.length, '')
  }

  /** Scans from `at` to `end` or a little further, and gives the place behind what was scanned. */
  scan(at: number, end: number): number {
    const bytes = this.#bytes
    while (at < end) {
      if (this.#quoted) {
        at = this.#skipString(at, end)
        continue
      }
      const kind = KINDS[bytes[at]!]
      if (kind === QUOTING) this.#quoted = true
      else if (kind === OPENING) {
        this.#depth++
        this.#opened[this.#depth] = at
        this.#member[this.#depth] = at + 1
      } else if (kind === CLOSING) this.#close(at)
      else if (kind === SEPARATOR) this.#separate(at)
      at++
    }
    this.#cut(at)
    return at
  }

  /** Gives the place behind the string, or one that is not before `end`. */
  #skipString(at: number, end: number): number {
    const bytes = this.#bytes
    for (; at < end; at++) {
      const byte = bytes[at]!
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) {
        this.#quoted = false
        return at + 1
      }
    }
    return at
  }

  #separate(at: number): void {
    this.#member[this.#depth] = at + 1
    if (this.#depth !== this.#assembly.depth) return
    this.#from ??= at + 1
    if (at - this.#from >= PART) this.#flush(at, at + 1)
  }

  #close(at: number): void {
    if (this.#depth === this.#assembly.depth) {
      if (this.#from !== null) this.#flush(at, null)
      this.#from = null
      this.#assembly.close()
    }
    this.#depth--
  }

  /** Where what is not parsed is longer than a part, parses the whole members before `at` and opens the container that `at` is in. */
  #cut(at: number): void {
    while (this.#from !== null && at - this.#from >= PART && this.#depth > this.#assembly.depth) {
      const level = this.#assembly.depth
      const member = this.#member[level]!
      if (member > this.#from) this.#flush(member - 1, member)
      const opened = this.#opened[level + 1]!
      if (at - opened < PART) return
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
    this.#assembly.add(this.#parsed(before!, this.#from!, to, after!) as unknown[])
    this.#from = next
  }

  #parsed(before: string, from: number, to: number, after: string): unknown {
    // A mark of the byte order may stand before everything.
    const start = from === 0 && this.#bytes[0] === 0xef ? 3 : from
    return JSON.parse(before + this.#bytes.toString('utf8', start, to) + after)
  }
}
