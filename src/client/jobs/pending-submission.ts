// A submission under way. It tracks whether the server may have received it, and ends it when its caller gives up.

export class PendingSubmission {
  readonly #callerSignal: AbortSignal | undefined
  readonly #awaitsOutcome: boolean
  readonly #controller = new AbortController()
  readonly #onCallerAbort = () => {
    if (!this.#mayHaveArrived || !this.#awaitsOutcome) this.abort(this.#callerSignal!.reason)
  }
  /** Whether the server may have received the submission, and has not refused it. */
  #mayHaveArrived = false

  /** `keep`: after an abort, the client still waits for the answer of a submission that may have arrived. */
  constructor(given: AbortSignal | undefined, keep: boolean) {
    this.#callerSignal = given
    this.#awaitsOutcome = keep
    given?.addEventListener('abort', this.#onCallerAbort, { once: true })
    if (given?.aborted) this.#onCallerAbort()
  }

  /** Aborts when the submission ends. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Records that the submission is sent. */
  markSent(): void {
    this.#mayHaveArrived = true
  }

  /** Records that the server refused or cannot have received the submission. After an abort it is not sent again. */
  markRefused(): void {
    this.#mayHaveArrived = false
    if (this.#callerSignal?.aborted) this.#onCallerAbort()
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason)
  }

  /** Removes the listener from the caller's signal. */
  detach(): void {
    this.#callerSignal?.removeEventListener('abort', this.#onCallerAbort)
  }
}
