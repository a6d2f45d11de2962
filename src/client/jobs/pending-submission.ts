// A submission on its way: whether the server may have it, and what ends it when its caller gives up.

export class PendingSubmission {
  readonly #callerSignal: AbortSignal | undefined
  readonly #awaitsOutcome: boolean
  readonly #controller = new AbortController()
  readonly #onCallerAbort = () => {
    if (!this.#mayHaveArrived || !this.#awaitsOutcome) this.abort(this.#callerSignal!.reason)
  }
  /** Whether the server may have it, and has not refused it. */
  #mayHaveArrived = false

  /** `keep`: what may have arrived is seen through when `given` is aborted. */
  constructor(given: AbortSignal | undefined, keep: boolean) {
    this.#callerSignal = given
    this.#awaitsOutcome = keep
    given?.addEventListener('abort', this.#onCallerAbort, { once: true })
    if (given?.aborted) this.#onCallerAbort()
  }

  /** Ends the submission. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** It is sent now. */
  markSent(): void {
    this.#mayHaveArrived = true
  }

  /** The server has refused it, or cannot have got it: once it was given up, it is not sent again. */
  markRefused(): void {
    this.#mayHaveArrived = false
    if (this.#callerSignal?.aborted) this.#onCallerAbort()
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason)
  }

  /** Lets go of the caller's signal. */
  detach(): void {
    this.#callerSignal?.removeEventListener('abort', this.#onCallerAbort)
  }
}
