// One request to a model server and its answer, as handlers of the HTTP library.
import type { Dispatcher } from 'undici'
import { toUpstreamFailure, UpstreamFailure } from './failure.ts'
import { countBytesReadBefore } from './read-tracking-connector.ts'
import {
  type BodyTimeSlices,
  decodeResponseBody,
  QueuedResponseBody,
  type UpstreamResponseBody,
} from './response-body.ts'

export interface UpstreamResponse {
  readonly status: number
  /** Returns a header of the answer by its name in lower case, or null. Several values are joined by commas. */
  header(name: string): string | null
  /** The decompressed body. */
  readonly body: UpstreamResponseBody
}

type DispatchController = Parameters<NonNullable<Dispatcher.DispatchHandler['onRequestStart']>>[0]
type RawResponseHeaders = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2]

/** A kept connection that breaks this soon after a request, in milliseconds, was closed by the server before the request arrived. */
const STALE_CONNECTION_MS = 1_000

/** Ends in the turn in which its signal aborts: the connection is broken, and the caller gets the reason. */
export class UpstreamExchange implements Dispatcher.DispatchHandler {
  readonly #signal: AbortSignal
  readonly #timeSlices: BodyTimeSlices
  readonly #head = Promise.withResolvers<UpstreamResponse>()
  readonly #onAbort = () => this.#abort()
  #controller: DispatchController | null = null
  #body: QueuedResponseBody | null = null
  #hasEnded = false
  #started_at = Number.POSITIVE_INFINITY

  constructor(signal: AbortSignal, turns: BodyTimeSlices) {
    this.#signal = signal
    this.#timeSlices = turns
    signal.addEventListener('abort', this.#onAbort)
  }

  /** Settles when the head has come. @throws UpstreamFailure, the signal's reason */
  get response(): Promise<UpstreamResponse> {
    return this.#head.promise
  }

  #abort(): void {
    this.#detachSignal()
    const { reason } = this.#signal
    this.#body?.fail(reason, true)
    this.#head.reject(reason)
    this.#controller?.abort(asError(reason))
  }

  #detachSignal(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#signal.removeEventListener('abort', this.#onAbort)
  }

  onRequestStart(controller: DispatchController): void {
    this.#controller = controller
    this.#started_at = performance.now()
    // The call was aborted while the request waited for a connection.
    if (this.#signal.aborted) controller.abort(asError(this.#signal.reason))
  }

  onResponseStart(controller: DispatchController, status: number, headers: RawResponseHeaders): void {
    if (status < 200) return
    const flow = {
      pause: () => controller.pause(),
      resume: () => controller.resume(),
      abort: (reason: Error) => {
        this.#detachSignal()
        controller.abort(reason)
      },
    }
    const body = new QueuedResponseBody(flow, this.#timeSlices)
    this.#body = body
    const header = (name: string) => {
      const value = headers[name]
      return value === undefined ? null : Array.isArray(value) ? value.join(', ') : value
    }
    try {
      this.#head.resolve({ status, header, body: decodeResponseBody(body, header('content-encoding') ?? '') })
    } catch (error) {
      this.#head.reject(error)
      body.destroy()
    }
  }

  onResponseData(_controller: DispatchController, piece: Buffer): void {
    this.#body?.push(piece)
  }

  onResponseEnd(): void {
    this.#detachSignal()
    this.#body?.end()
  }

  onResponseError(_controller: DispatchController, error: Error): void {
    this.#detachSignal()
    const failure = this.#toFailure(error)
    this.#body?.fail(failure)
    this.#head.reject(failure)
  }

  #toFailure(error: Error): UpstreamFailure {
    const failure = toUpstreamFailure(error)
    const kept = failure.fault === 'reset' && this.#body === null && countBytesReadBefore(error) > 0
    if (!kept || performance.now() - this.#started_at > STALE_CONNECTION_MS) return failure
    return new UpstreamFailure(failure.fault, failure.message, failure.cause, true)
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('the request was aborted', { cause: reason })
}
