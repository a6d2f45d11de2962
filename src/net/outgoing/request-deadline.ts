// Limits how long one request may take.

/** Aborts with its caller's signal or after `timeout_ms`. Disposal removes the timer and the listener. */
export class RequestDeadline implements Disposable {
  readonly #controller = new AbortController()
  readonly #caller: AbortSignal
  readonly #timer: NodeJS.Timeout
  readonly #abort = () => this.#controller.abort(this.#caller.reason)
  hasPassed = false

  constructor(caller: AbortSignal, timeout_ms: number) {
    this.#caller = caller
    this.#timer = setTimeout(() => {
      this.hasPassed = true
      this.#controller.abort(new Error('The request has timed out'))
    }, timeout_ms)
    caller.addEventListener('abort', this.#abort, { once: true })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Settles as `work` does. Rejects as soon as the time is over, even where `work` ignores the signal. */
  race<T>(work: Promise<T>): Promise<T> {
    const { signal } = this
    return new Promise((resolve, reject) => {
      const stop = () => reject(signal.reason)
      if (signal.aborted) stop()
      signal.addEventListener('abort', stop, { once: true })
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
    })
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    this.#caller.removeEventListener('abort', this.#abort)
  }
}
