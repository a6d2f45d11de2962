// Reads a stream of events on its way from a server that speaks OpenAI's protocol to the client: whole events go on as they came, byte by byte,
// and lines mean what they mean to everybody who reads such streams (HTML, "Interpreting an event stream").
import type { Malformed } from '../models/checked.ts'
import { isLong } from '../models/json-text.ts'
import { isSignOfLife } from '../models/openai-events.ts'
import type { Steps } from '../time-slices.ts'
import type { Counted } from './chunk-facts.ts'
import { ChunkJudge, type ChunkJudgeParts } from './chunk-judge.ts'
import { LineEnds } from './line-ends.ts'

/** Of one event, in bytes. */
const LONGEST_EVENT = 16_777_216
/** So many pieces of it are held by themselves: each is an object, and many small ones take more room than what they hold. */
const MOST_LOOSE = 1_000
/** In the place of a sign of life: a comment is one as well, and nothing to whoever reads data. */
const COMMENT = ':\n\n'
/** The mark of a byte order, as characters of a byte each. */
const MARK = '\xef\xbb\xbf'

export class EventReader {
  readonly #judge: ChunkJudge
  /** Bytes of an event that is not whole yet. */
  #held: Uint8Array[] = []
  #held_length = 0
  /** How many of the last pieces were not joined yet. */
  #loose = 0
  #line = ''
  #begun = false
  /** Whether the bytes so far end with a return: a feed that follows is of the same end of a line. */
  #returned = false
  #data: string | null = null
  #name = ''
  /** Whether the event has a line that means nothing. */
  #strange = false

  constructor(parts: ChunkJudgeParts) {
    this.#judge = new ChunkJudge(parts)
  }

  /** Whether the end was said. Whatever follows is nothing. */
  get done(): boolean {
    return this.#judge.done
  }

  /** Whether a piece of the answer has come, and not only what may come before. */
  get begun(): boolean {
    return this.#judge.begun
  }

  /** Of the texts of all deltas so far, in bytes. */
  get length(): number {
    return this.#judge.length
  }

  get counted(): Counted | null {
    return this.#judge.counted
  }

  /** What is wrong with the stream. Nothing is read behind it. */
  get fault(): Malformed | null {
    return this.#judge.fault
  }

  /** What goes on to the client of the events that are whole now. It takes one step, unless there is a long one among them. */
  *take(bytes: Uint8Array): Steps<Uint8Array[]> {
    const text = latin1(bytes)
    const ends = new LineEnds(text)
    const out: Uint8Array[] = []
    let passed = 0
    let start = 0
    let at = this.#returned && text[0] === '\n' ? 1 : 0
    this.#returned = text.endsWith('\r')
    while (!this.done && !this.fault) {
      const end = ends.from(at)
      if (end < 0) break
      const isBlank = end === at && this.#line === ''
      if (!isBlank) this.#addLine(this.#line + text.slice(at, end))
      this.#line = ''
      at = text[end] === '\r' && text[end + 1] === '\n' ? end + 2 : end + 1
      if (!isBlank) continue
      if (isLong(this.#data ?? '')) yield
      const instead = yield* this.#endEvent()
      if (this.fault) break
      if (instead === null) out.push(...this.#release())
      else {
        this.#release()
        if (start > passed) out.push(bytes.subarray(passed, start))
        if (instead !== '') out.push(Buffer.from(instead))
        passed = at
      }
      start = at
    }
    if (start > passed) out.push(bytes.subarray(passed, start))
    if (!this.done && !this.fault) this.#hold(bytes.subarray(start), text.slice(at))
    return out
  }

  /** The stream is over: what the client still has to be told. @throws Malformed where it is cut off */
  end(): string {
    if (this.done) return ''
    if (this.#line !== '') this.#addLine(this.#line)
    return this.#judge.end(this.#data?.trim() ?? '')
  }

  #hold(bytes: Uint8Array, line: string): void {
    if (bytes.length === 0) return
    this.#held.push(bytes)
    this.#held_length += bytes.length
    this.#line += line
    if (this.#held_length > LONGEST_EVENT) this.#judge.wrong('an event without an end')
    this.#loose++
    if (this.#loose < MOST_LOOSE) return
    // What was joined is not joined again: that would take the longer, the longer the event is.
    this.#held.push(Buffer.concat(this.#held.splice(-MOST_LOOSE)))
    this.#loose = 0
  }

  #release(): Uint8Array[] {
    const held = this.#held
    this.#held = []
    this.#held_length = 0
    this.#loose = 0
    return held
  }

  #addLine(given: string): void {
    const line = !this.#begun && given.startsWith(MARK) ? given.slice(MARK.length) : given
    this.#begun = true
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') this.#data = this.#data === null ? value : `${this.#data}\n${value}`
    else if (field === 'event') this.#name = value
    else if (field !== '' && field !== 'id' && field !== 'retry') this.#strange = true
  }

  /** What stands in the place of the event; null where it passes. */
  *#endEvent(): Steps<string | null> {
    const data = this.#data?.trim() ?? ''
    const name = this.#name
    const strange = this.#strange
    this.#data = null
    this.#name = ''
    this.#strange = false
    if (data !== '') return isSignOfLife(name) ? COMMENT : yield* this.#judge.judge(data, name)
    // Without data it is nothing to its reader, and words of somebody if it has any.
    if (name === 'error') return this.#judge.wrong('an error without a word')
    return strange ? '' : null
  }
}

function latin1({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1')
}
