// Reads a stream of events on its way from a server that speaks OpenAI's protocol to the client: whole events go on as they came, byte by byte,
// and lines mean what they mean to everybody who reads such streams (HTML, "Interpreting an event stream").

import { isKeepAlive } from '../../models/providers/openai/event-classification.ts'
import { isLongJson } from '../../models/providers/shared/json-parsing.ts'
import type { MalformedDataError } from '../../models/providers/shared/provider-data-validation.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { ChunkInspector, type ChunkInspectorParts } from './chunk-inspector.ts'
import type { ReportedUsage } from './chunk-scan.ts'
import { LineEndFinder } from './line-ends.ts'

/** Of one event, in bytes. */
const MAX_EVENT_BYTES = 16_777_216
/** So many pieces of it are held by themselves: each is an object, and many small ones take more room than what they hold. */
const MAX_UNJOINED = 1_000
/** In the place of a sign of life: a comment is one as well, and nothing to whoever reads data. */
const COMMENT = ':\n\n'
/** The mark of a byte order, as characters of a byte each. */
const BYTE_ORDER_MARK = '\xef\xbb\xbf'

export class EventStreamReader {
  readonly #inspector: ChunkInspector
  /** Bytes of an event that is not whole yet. */
  #held: Uint8Array[] = []
  #held_length = 0
  /** How many of the last pieces were not joined yet. */
  #unjoined = 0
  #line = ''
  #begun = false
  /** Whether the bytes so far end with a return: a feed that follows is of the same end of a line. */
  #endsWithReturn = false
  #data: string | null = null
  #name = ''
  /** Whether the event has a line that means nothing. */
  #hasUnknownField = false

  constructor(parts: ChunkInspectorParts) {
    this.#inspector = new ChunkInspector(parts)
  }

  /** Whether the end was said. Whatever follows is nothing. */
  get isDone(): boolean {
    return this.#inspector.isDone
  }

  /** Whether a piece of the answer has come, and not only what may come before. */
  get hasBegun(): boolean {
    return this.#inspector.hasBegun
  }

  /** Of the texts of all deltas so far, in bytes. */
  get text_length(): number {
    return this.#inspector.text_length
  }

  get reported_usage(): ReportedUsage | null {
    return this.#inspector.reported_usage
  }

  /** What is wrong with the stream. Nothing is read behind it. */
  get fault(): MalformedDataError | null {
    return this.#inspector.fault
  }

  /** What goes on to the client of the events that are whole now. It takes one step, unless there is a long one among them. */
  *take(bytes: Uint8Array): Steps<Uint8Array[]> {
    const text = decodeLatin1(bytes)
    const ends = new LineEndFinder(text)
    const out: Uint8Array[] = []
    let passed = 0
    let start = 0
    let at = this.#endsWithReturn && text[0] === '\n' ? 1 : 0
    this.#endsWithReturn = text.endsWith('\r')
    while (!this.isDone && !this.fault) {
      const end = ends.from(at)
      if (end < 0) break
      const isBlank = end === at && this.#line === ''
      if (!isBlank) this.#addLine(this.#line + text.slice(at, end))
      this.#line = ''
      at = text[end] === '\r' && text[end + 1] === '\n' ? end + 2 : end + 1
      if (!isBlank) continue
      if (isLongJson(this.#data ?? '')) yield
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
    if (!this.isDone && !this.fault) this.#hold(bytes.subarray(start), text.slice(at))
    return out
  }

  /** The stream is over: what the client still has to be told. @throws Malformed where it is cut off */
  end(): string {
    if (this.isDone) return ''
    if (this.#line !== '') this.#addLine(this.#line)
    return this.#inspector.end(this.#data?.trim() ?? '')
  }

  #hold(bytes: Uint8Array, line: string): void {
    if (bytes.length === 0) return
    this.#held.push(bytes)
    this.#held_length += bytes.length
    this.#line += line
    if (this.#held_length > MAX_EVENT_BYTES) this.#inspector.recordFault('an event without an end')
    this.#unjoined++
    if (this.#unjoined < MAX_UNJOINED) return
    // What was joined is not joined again: that would take the longer, the longer the event is.
    this.#held.push(Buffer.concat(this.#held.splice(-MAX_UNJOINED)))
    this.#unjoined = 0
  }

  #release(): Uint8Array[] {
    const held = this.#held
    this.#held = []
    this.#held_length = 0
    this.#unjoined = 0
    return held
  }

  #addLine(given: string): void {
    const line = !this.#begun && given.startsWith(BYTE_ORDER_MARK) ? given.slice(BYTE_ORDER_MARK.length) : given
    this.#begun = true
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') this.#data = this.#data === null ? value : `${this.#data}\n${value}`
    else if (field === 'event') this.#name = value
    else if (field !== '' && field !== 'id' && field !== 'retry') this.#hasUnknownField = true
  }

  /** What stands in the place of the event; null where it passes. */
  *#endEvent(): Steps<string | null> {
    const data = this.#data?.trim() ?? ''
    const name = this.#name
    const strange = this.#hasUnknownField
    this.#data = null
    this.#name = ''
    this.#hasUnknownField = false
    if (data !== '') return isKeepAlive(name) ? COMMENT : yield* this.#inspector.inspect(data, name)
    // Without data it is nothing to its reader, and words of somebody if it has any.
    if (name === 'error') return this.#inspector.recordFault('an error without a word')
    return strange ? '' : null
  }
}

function decodeLatin1({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1')
}
