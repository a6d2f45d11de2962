// A submission on its way: whether the server may have it, and what ends it when its caller gives up.

export class Flight {
  readonly #given: AbortSignal | undefined
  readonly #keep: boolean
  readonly #controller = new AbortController()
  readonly #giveUp = () => {
    if (!this.#away || !this.#keep) this.stop(this.#given!.reason)
  }
  /** Whether the server may have it, and has not refused it. */
  #away = false

  /** `keep`: what may have arrived is seen through when `given` is aborted. */
  constructor(given: AbortSignal | undefined, keep: boolean) {
    this.#given = given
    this.#keep = keep
    given?.addEventListener('abort', this.#giveUp, { once: true })
    if (given?.aborted) this.#giveUp()
  }

  /** Ends the submission. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** It is sent now. */
  sent(): void {
    this.#away = true
  }

  /** The server has refused it, or cannot have got it: once it was given up, it is not sent again. */
  refused(): void {
    this.#away = false
    if (this.#given?.aborted) this.#giveUp()
  }

  stop(reason: unknown): void {
    this.#controller.abort(reason)
  }

  /** Lets go of the caller's signal. */
  over(): void {
    this.#given?.removeEventListener('abort', this.#giveUp)
  }
}
