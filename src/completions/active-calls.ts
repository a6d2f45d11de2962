// Tracks model calls that are in progress. A call ends when its client disconnects, when its credential becomes
// invalid, or when the server stops.
import { ServiceError } from '../errors.ts'

export class ActiveCalls {
  readonly #open = new Set<ActiveCall>()

  /**
   * One listener serves all calls: removing one of thousands of listeners from a signal that lasts as long as the
   * process is slow.
   */
  constructor(stopping: AbortSignal) {
    const stop = () => {
      for (const call of this.#open) call.end(new ServiceError('SERVICE_UNAVAILABLE'))
    }
    stopping.addEventListener('abort', stop, { once: true })
    this.#stopping = stopping
  }

  readonly #stopping: AbortSignal

  get size(): number {
    return this.#open.size
  }

  /** `gone` aborts when the client disconnects. The caller must close the call. */
  open(gone: AbortSignal): ActiveCall {
    const call = new ActiveCall(gone, () => this.#open.delete(call))
    this.#open.add(call)
    if (this.#stopping.aborted) call.end(new ServiceError('SERVICE_UNAVAILABLE'))
    return call
  }
}

export class ActiveCall {
  readonly #control = new AbortController()
  readonly #closed: () => void
  /** Headers of the response, also of an error response. */
  headers: Readonly<Record<string, string>> = {}

  constructor(gone: AbortSignal, closed: () => void) {
    this.#closed = closed
    if (gone.aborted) this.end(gone.reason)
    else gone.addEventListener('abort', () => this.end(gone.reason), { once: true })
  }

  get signal(): AbortSignal {
    return this.#control.signal
  }

  end(reason: unknown): void {
    this.#control.abort(reason)
  }

  /** `revoked` aborts when the caller's credential becomes invalid, with the error of the call as its reason. */
  endWith(revoked: AbortSignal): void {
    const end = () => this.end(revoked.reason)
    if (revoked.aborted) end()
    else revoked.addEventListener('abort', end, { once: true })
  }

  close(): void {
    this.#closed()
  }
}
