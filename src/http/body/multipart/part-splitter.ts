// Splits a multipart body (RFC 2046) into its parts while it comes.
import { malformedFormError, notFormDataError } from '../upload-errors.ts'
import { type PartHead, parsePartHead } from './part-head.ts'

export type PartEvent =
  | { readonly kind: 'head'; readonly head: PartHead }
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  | { readonly kind: 'end' }

/** Bytes. */
const MAX_HEAD_BYTES = 16_384

type State = 'preamble' | 'boundary' | 'head' | 'body' | 'epilogue'

export class PartSplitter {
  readonly #delimiter: Buffer
  /** Received bytes that are not decided yet. The first boundary may stand at the beginning without a line break, which is added here. */
  #rest: Buffer = Buffer.from('\r\n')
  #state: State = 'preamble'

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  }

  /** The number of received bytes that may still belong to the present part. */
  get pending(): number {
    return this.#rest.length
  }

  /** Whether the last boundary was received. */
  get isComplete(): boolean {
    return this.#state === 'epilogue'
  }

  /** Takes a chunk. @throws INVALID_REQUEST for a malformed body */
  *push(chunk: Buffer): Generator<PartEvent, void, void> {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    for (let before: State | null = null; before !== this.#state; ) {
      before = this.#state
      if (before === 'preamble' || before === 'body') yield* this.#readToBoundary(before === 'body')
      else if (before === 'boundary') this.#readBoundaryEnd()
      else if (before === 'head') yield* this.#readHead()
      else this.#rest = this.#rest.subarray(this.#rest.length)
    }
  }

  *#readToBoundary(isBody: boolean): Generator<PartEvent, void, void> {
    const at = this.#rest.indexOf(this.#delimiter)
    const bytes = this.#take(at < 0 ? this.#findOpenEnd() : at)
    if (isBody && bytes.length > 0) yield { kind: 'bytes', bytes }
    if (at < 0) return
    this.#take(this.#delimiter.length)
    this.#state = 'boundary'
    if (isBody) yield { kind: 'end' }
  }

  #readBoundaryEnd(): void {
    if (this.#rest.length < 2) return
    const end = this.#rest.toString('latin1', 0, 2)
    if (end !== '--' && end !== '\r\n') throw notFormDataError()
    this.#state = end === '--' ? 'epilogue' : 'head'
    // The line break stays: two of them in a row end a head, and it may be empty.
    if (end === '--') this.#take(2)
  }

  *#readHead(): Generator<PartEvent, void, void> {
    const end = this.#rest.indexOf('\r\n\r\n')
    if (end > MAX_HEAD_BYTES || (end < 0 && this.#rest.length > MAX_HEAD_BYTES)) throw malformedFormError()
    if (end < 0) return
    const head = parsePartHead(this.#take(end + 4).toString('latin1', 2, end))
    if (head === null) throw malformedFormError()
    this.#state = 'body'
    yield { kind: 'head', head }
  }

  /** Where the delimiter may begin whose end is still missing: at a carriage return. */
  #findOpenEnd(): number {
    const at = this.#rest.indexOf('\r', Math.max(0, this.#rest.length - this.#delimiter.length + 1))
    return at < 0 ? this.#rest.length : at
  }

  #take(count: number): Buffer {
    const taken = this.#rest.subarray(0, count)
    this.#rest = this.#rest.subarray(count)
    return taken
  }
}
