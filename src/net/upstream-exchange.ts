// One request to a server of models and its answer, as the library tells of them.
import type { Dispatcher } from 'undici'
import { decodedBody, ReplyBody, type Turns, type UpstreamBody } from './upstream-body.ts'
import { UpstreamFailure, upstreamFailure } from './upstream-failure.ts'
import { readBefore } from './upstream-sockets.ts'

export interface UpstreamReply {
  readonly status: number
  /** Of the answer, by a name in small letters; null where there is none. Several are joined by commas. */
  header(name: string): string | null
  /** Decompressed. */
  readonly body: UpstreamBody
}

type Controller = Parameters<NonNullable<Dispatcher.DispatchHandler['onRequestStart']>>[0]
type Headers = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2]

/** A kept connection that breaks so soon after the request, in milliseconds, was closed at its other end before it came. */
const AT_ONCE_MS = 1_000

/** Ends within the turn in which its signal aborts: the connection is broken, and whoever waits is told the reason. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #signal: AbortSignal
  readonly #turns: Turns
  readonly #head = Promise.withResolvers<UpstreamReply>()
  readonly #aborted = () => this.#abort()
  #controller: Controller | null = null
  #body: ReplyBody | null = null
  #ended = false
  #started_at = Number.POSITIVE_INFINITY

  constructor(signal: AbortSignal, turns: Turns) {
    this.#signal = signal
    this.#turns = turns
    signal.addEventListener('abort', this.#aborted)
  }

  /** Settles when the head has come. @throws UpstreamFailure, the signal's reason */
  get reply(): Promise<UpstreamReply> {
    return this.#head.promise
  }

  #abort(): void {
    this.#over()
    const { reason } = this.#signal
    this.#body?.fail(reason, true)
    this.#head.reject(reason)
    this.#controller?.abort(asError(reason))
  }

  #over(): void {
    if (this.#ended) return
    this.#ended = true
    this.#signal.removeEventListener('abort', this.#aborted)
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    this.#started_at = performance.now()
    // It waited for a connection, and nobody waits for it any more.
    if (this.#signal.aborted) controller.abort(asError(this.#signal.reason))
  }

  onResponseStart(controller: Controller, status: number, headers: Headers): void {
    if (status < 200) return
    const flow = {
      pause: () => controller.pause(),
      resume: () => controller.resume(),
      abort: (reason: Error) => {
        this.#over()
        controller.abort(reason)
      },
    }
    const body = new ReplyBody(flow, this.#turns)
    this.#body = body
    const header = (name: string) => {
      const value = headers[name]
      return value === undefined ? null : Array.isArray(value) ? value.join(', ') : value
    }
    try {
      this.#head.resolve({ status, header, body: decodedBody(body, header('content-encoding') ?? '') })
    } catch (error) {
      this.#head.reject(error)
      body.destroy()
    }
  }

  onResponseData(_controller: Controller, piece: Buffer): void {
    this.#body?.push(piece)
  }

  onResponseEnd(): void {
    this.#over()
    this.#body?.end()
  }

  onResponseError(_controller: Controller, error: Error): void {
    this.#over()
    const failure = this.#failureOf(error)
    this.#body?.fail(failure)
    this.#head.reject(failure)
  }

  #failureOf(error: Error): UpstreamFailure {
    const failure = upstreamFailure(error)
    const kept = failure.fault === 'reset' && this.#body === null && readBefore(error) > 0
    if (!kept || performance.now() - this.#started_at > AT_ONCE_MS) return failure
    return new UpstreamFailure(failure.fault, failure.message, failure.cause, true)
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('the request was aborted', { cause: reason })
}
