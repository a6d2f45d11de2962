// Reads the event stream of a server that speaks OpenAI's protocol, and passes whole events on byte for byte. Lines
// follow the standard (HTML, "Interpreting an event stream").

import { isKeepAlive } from '../../models/providers/openai/event-classification.ts'
import { isLongJson } from '../../models/providers/shared/json-parsing.ts'
import type { MalformedDataError } from '../../models/providers/shared/provider-data-validation.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { ChunkInspector, type ChunkInspectorParts } from './chunk-inspector.ts'
import type { ReportedUsage } from './chunk-scan.ts'
import { LineEndFinder } from './line-ends.ts'

/** In bytes, of one event. */
const MAX_EVENT_BYTES = 16_777_216
/** The limit of held pieces before they are joined: many small objects take more memory than their bytes. */
const MAX_UNJOINED = 1_000
/** Replaces a keep-alive event: clients ignore comments, but the connection stays active. */
const COMMENT = ':\n\n'
/** The byte order mark in latin1. */
const BYTE_ORDER_MARK = '\xef\xbb\xbf'

export class EventStreamReader {
  readonly #inspector: ChunkInspector
  /** The bytes of an incomplete event. */
  #held: Uint8Array[] = []
  #held_length = 0
  /** How many of the last pieces are not joined yet. */
  #unjoined = 0
  #line = ''
  #begun = false
  /**
   * Whether the bytes so far end with `\r`: a following `
   * ` belongs to the same line end.
   */
  #endsWithReturn = false
  #data: string | null = null
  #name = ''
  /** Whether the event has a line with an unknown field. */
  #hasUnknownField = false

  constructor(parts: ChunkInspectorParts) {
    this.#inspector = new ChunkInspector(parts)
  }

  /** Whether the end of the answer has come. Later bytes are ignored. */
  get isDone(): boolean {
    return this.#inspector.isDone
  }

  /** Whether a chunk of the answer has come. */
  get hasBegun(): boolean {
    return this.#inspector.hasBegun
  }

  /** The text length of all deltas so far, in bytes. */
  get text_length(): number {
    return this.#inspector.text_length
  }

  get reported_usage(): ReportedUsage | null {
    return this.#inspector.reported_usage
  }

  /** The fault of the stream. Nothing after it is read. */
  get fault(): MalformedDataError | null {
    return this.#inspector.fault
  }

  /** Returns the bytes for the client of all complete events. It takes one step, unless one of the events is long. */
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
      const replacement = yield* this.#endEvent()
      if (this.fault) break
      if (replacement === null) out.push(...this.#release())
      else {
        this.#release()
        if (start > passed) out.push(bytes.subarray(passed, start))
        if (replacement !== '') out.push(Buffer.from(replacement))
        passed = at
      }
      start = at
    }
    if (start > passed) out.push(bytes.subarray(passed, start))
    if (!this.isDone && !this.fault) this.#hold(bytes.subarray(start), text.slice(at))
    return out
  }

  /** Ends the stream. Returns what the client still needs. @throws MalformedDataError if the stream is cut off */
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
    if (this.#held_length > MAX_EVENT_BYTES) this.#inspector.recordFault('an event that is too long')
    this.#unjoined++
    if (this.#unjoined < MAX_UNJOINED) return
    // Joined pieces are not joined again, which would take quadratic time.
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

  /** Returns the replacement of the event; null if the event passes. */
  *#endEvent(): Steps<string | null> {
    const data = this.#data?.trim() ?? ''
    const name = this.#name
    const hasUnknownField = this.#hasUnknownField
    this.#data = null
    this.#name = ''
    this.#hasUnknownField = false
    if (data !== '') return isKeepAlive(name) ? COMMENT : yield* this.#inspector.inspect(data, name)
    // Clients ignore an event without data, but an unknown field may contain text of the server.
    if (name === 'error') return this.#inspector.recordFault('an error event without data')
    return hasUnknownField ? '' : null
  }
}

function decodeLatin1({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1')
}
