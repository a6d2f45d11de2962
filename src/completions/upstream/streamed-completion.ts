// Passes streamed answers of servers that speak OpenAI's protocol to the client, event by event.
import type { ChatCompletionRequest } from '../../../generated/types.ts'
import type { ResolvedModel } from '../../models/catalogue/resolved-model.ts'
import type { PassthroughResponse } from '../../models/provider.ts'
import type { TimeSliceScheduler } from '../../shared/time-slices.ts'
import type { AnswerStreamSource } from '../answers/stream.ts'
import { DONE_EVENT, type ReportedUsage } from './chunk-scan.ts'
import { isNonZeroUsage, toProviderError, UpstreamErrorBody } from './error-body.ts'
import { EventStreamReader } from './event-stream-reader.ts'
import { completeInterruptedUsage, completeUsage } from './usage-estimate.ts'

export interface StreamedCompletionParts {
  readonly found: ResolvedModel
  readonly body: ChatCompletionRequest
  readonly answer: PassthroughResponse
  /** The owner whose time slices are used for long events. */
  readonly owner: string
  readonly slices: Pick<TimeSliceScheduler, 'begin'>
  /** Reports why the answer broke off. Returns the event that tells the client. */
  failed(error: unknown): string
  /** Called once with the usage; null if nothing was used. */
  used(counted: ReportedUsage | null): void
}

/** In milliseconds: how long events before the answer are held, so that an error after them can be an HTTP error. */
const MAX_HELD_MS = 10_000
/** The limits of held pieces and bytes. */
const MAX_HELD_PIECES = 1_000
const MAX_HELD_BYTES = 65_536

export class StreamedCompletion implements AnswerStreamSource {
  readonly #parts: StreamedCompletionParts
  readonly #now: () => number
  readonly #bytes: AsyncIterator<Uint8Array>
  readonly #reader: EventStreamReader
  #begun = false
  #over = false
  #settled = false
  /** Pieces that came before the answer. */
  #held: Uint8Array[] = []
  #held_bytes = 0
  #held_since: number | null = null

  /** `now` returns the time in milliseconds. */
  constructor(parts: StreamedCompletionParts, now: () => number) {
    const { found, body, answer } = parts
    this.#parts = parts
    this.#now = now
    this.#bytes = answer.body[Symbol.asyncIterator]()
    this.#reader = new EventStreamReader({
      include_usage: body.stream_options?.include_usage === true,
      choices: body.n ?? 1,
      complete: (counted) => completeUsage(found, body, this.#reader.text_length, counted),
    })
  }

  /** @throws ProviderError if the stream fails before the answer starts; the reason of a signal */
  async next(): Promise<Uint8Array | null> {
    while (!this.#over) {
      this.#hold(await this.#read())
      if (this.#held.length === 0 || this.#isEarly()) continue
      const pieces = this.#held
      this.#held = []
      this.#begun = true
      return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
    }
    return null
  }

  #hold(pieces: readonly Uint8Array[]): void {
    for (const piece of pieces) {
      this.#held.push(piece)
      this.#held_bytes += piece.length
    }
  }

  /**
   * Whether the held pieces come before the answer, and the response can still wait. The wait is limited: the client
   * and proxies must see that the server is alive.
   */
  #isEarly(): boolean {
    if (this.#begun || this.#over || this.#reader.hasBegun) return false
    this.#held_since ??= this.#now()
    if (this.#held.length >= MAX_HELD_PIECES || this.#held_bytes >= MAX_HELD_BYTES) return false
    return this.#now() - this.#held_since < MAX_HELD_MS
  }

  close(): void {
    this.#settle()
    if (!this.#over) this.#parts.answer.body.destroy()
    this.#over = true
  }

  async #read(): Promise<Uint8Array[]> {
    try {
      const step = await this.#bytes.next()
      if (this.#over) return []
      const pieces = step.done ? [Buffer.from(this.#reader.end())] : await this.#take(step.value)
      if (this.#over) return []
      if (this.#reader.fault) return [...pieces, ...this.#fail(this.#reader.fault)]
      if (step.done || this.#reader.isDone) this.#end(step.done === true)
      return pieces
    } catch (error) {
      return this.#fail(error)
    }
  }

  #take(bytes: Uint8Array): Promise<Uint8Array[]> {
    const { owner, slices } = this.#parts
    return slices.begin(owner, this.#reader.take(bytes))
  }

  /** After its end the connection can be used for other requests. */
  #end(is_read: boolean): void {
    this.#settle()
    this.#over = true
    if (!is_read) this.#parts.answer.body.release()
  }

  #fail(cause: unknown): Uint8Array[] {
    const { found, answer, failed } = this.#parts
    this.#settle(cause)
    this.#over = true
    answer.body.destroy()
    const error = toProviderError(found, cause)
    if (!this.#begun && !this.#reader.hasBegun) throw error
    return [Buffer.from(`${failed(error)}${DONE_EVENT}`)]
  }

  /**
   * An interrupted answer used its input and the output so far, since the server started it. If the server reports an
   * error before any text or usage, nothing was used; usage in the error itself is the last count.
   */
  #settle(cause?: unknown): void {
    if (this.#settled) return
    this.#settled = true
    const { found, body, used } = this.#parts
    const { reported_usage, text_length, isDone } = this.#reader
    const reported_error = cause instanceof UpstreamErrorBody ? cause : null
    if (reported_error && text_length === 0 && !isNonZeroUsage(reported_usage)) used(null)
    else
      used(
        (isDone || reported_error?.reported_usage ? completeUsage : completeInterruptedUsage)(
          found,
          body,
          text_length,
          reported_usage,
        ),
      )
  }
}
