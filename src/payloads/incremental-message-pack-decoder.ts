// Decodes MessagePack in parts. This file finds where the data can be cut, and the library decodes each part.
import type { Steps } from '../shared/time-slices.ts'
import { decodeMessagePack } from './frame-decoder.ts'
import { readItemAt } from './frame-structure-checks.ts'
import { ValueBuilder } from './value-builder.ts'

/** Bytes of a part. Decoding a part takes about a millisecond. */
const PART_BYTES = 16_384
const [ARRAY_32, MAP_32] = [0xdd, 0xdf]
const HEAD_BYTES = 5

/** A container that the scan is in. */
interface Level {
  readonly head: number
  readonly body: number
  readonly isList: boolean
  /** Number of members, with keys and values counted, and how many of them the scan has begun. */
  readonly members: number
  begun: number
  /** Start of the current member; in a map, of its key. */
  member: number
}

/** Decodes MessagePack that is known to be complete and within the allowed depth. */
export function* decodeMessagePackSteps(data: Buffer): Steps<unknown> {
  const parts = new IncrementalMessagePackDecoder(data)
  while (!parts.scan()) yield
  return parts.value
}

class IncrementalMessagePackDecoder {
  readonly #data: Buffer
  readonly #view: DataView
  readonly #assembly = new ValueBuilder()
  /** The containers around the scanned offset. */
  readonly #levels: Level[] = []
  #at = 0
  /** Start of the part that is not decoded yet, and the number of its first member. */
  #from = 0
  #first = 0

  constructor(data: Buffer) {
    this.#data = data
    this.#view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  }

  get value(): unknown {
    return this.#assembly.root ?? decodeMessagePack(this.#data)
  }

  /** Scans a part; returns true at the end. */
  scan(): boolean {
    const end = this.#at + PART_BYTES
    while (this.#at < end) {
      const level = this.#levels.at(-1)
      if (level && level.begun === level.members) {
        this.#close()
        if (this.#levels.length === 0) return true
        continue
      }
      if (level) beginMember(level, this.#at)
      const { next, members } = readItemAt(this.#view, this.#at)
      if (members !== null) this.#open(next, members)
      else if (!level) return true
      this.#at = next
    }
    this.#flushLargePart()
    return false
  }

  #open(body: number, members: number): void {
    const head = this.#data[this.#at]!
    const isList = (head & 0xf0) === 0x90 || head === 0xdc || head === ARRAY_32
    this.#levels.push({ head: this.#at, body, isList, members, begun: 0, member: body })
  }

  #close(): void {
    const level = this.#levels.pop()!
    if (this.#levels.length !== this.#assembly.depth - 1) return
    this.#flush(level, this.#at, level.begun)
    this.#assembly.close()
    const outer = this.#levels.at(-1)
    if (!outer) return
    this.#from = this.#at
    this.#first = outer.begun
  }

  /** If the undecoded data is longer than a part, decodes the complete members before the offset, and opens the container around it. */
  #flushLargePart(): void {
    while (this.#at - this.#from >= PART_BYTES) {
      const inner = this.#levels[this.#assembly.depth]
      const outer = this.#levels[this.#assembly.depth - 1]
      if (outer) this.#flushBefore(outer, inner !== undefined)
      if (!inner || this.#at - inner.head < PART_BYTES) return
      const key = outer && !outer.isList ? decodeMessagePack(this.#data.subarray(outer.member, inner.head)) : null
      this.#assembly.open(inner.isList, key === null ? null : String(key))
      this.#from = inner.body
      this.#first = 0
    }
  }

  /** Decodes the members before the current one, and that one if it is complete. */
  #flushBefore(level: Level, within: boolean): void {
    const isWhole = !within && (level.isList || level.begun % 2 === 0)
    const present = level.isList ? 1 : 2 - (level.begun % 2)
    const [to, count] = isWhole ? [this.#at, level.begun] : [level.member, level.begun - present]
    if (to > this.#from) this.#flush(level, to, count)
  }

  #flush({ isList, members: all }: Level, to: number, count: number): void {
    const members = isList ? count - this.#first : (count - this.#first) / 2
    const part = Buffer.allocUnsafe(HEAD_BYTES + to - this.#from)
    part[0] = isList ? ARRAY_32 : MAP_32
    part.writeUInt32BE(members, 1)
    part.set(this.#data.subarray(this.#from, to), HEAD_BYTES)
    this.#assembly.addMembers(decodeMessagePack(part) as unknown[], all - count)
    this.#from = to
    this.#first = count
  }
}

function beginMember(level: Level, at: number): void {
  if (level.isList || level.begun % 2 === 0) level.member = at
  level.begun++
}
