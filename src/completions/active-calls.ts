// Calls that are under way: each ends when its client goes, when its credential is no longer good, and when the server stops.
import { ServiceError } from '../errors.ts'

export class ActiveCalls {
  readonly #open = new Set<ActiveCall>()

  /** One listener for all: a signal that lasts as long as the process would have to find each of thousands again. */
  constructor(stopping: AbortSignal) {
    const stop = () => {
      for (const call of this.#open) call.end(new ServiceError('SERVICE_UNAVAILABLE'))
    }
    stopping.addEventListener('abort', stop, { once: true })
    this.#stopping = stopping
  }

  readonly #stopping: AbortSignal

  /** How many there are. */
  get size(): number {
    return this.#open.size
  }

  /** `gone` aborts when the client has gone. To be closed. */
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
  /** What its answer has, whatever becomes of it. */
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

  /** `revoked` aborts when the caller's credential is no longer good. */
  endWith(revoked: AbortSignal): void {
    const end = () =>
      this.end(new ServiceError('AUTHENTICATION_REQUIRED', { message: 'The credential is no longer good.' }))
    if (revoked.aborted) end()
    else revoked.addEventListener('abort', end, { once: true })
  }

  close(): void {
    this.#closed()
  }
}
