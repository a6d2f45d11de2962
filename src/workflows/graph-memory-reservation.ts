// GraphMemoryReservation takes memory for one large compiled graph from the account of requests: the first holder takes it, and the last
// one releases it.

/** The account from which memory is taken. */
export interface CompilationMemoryAccount {
  /** Waits for memory, and returns the function that releases it. @throws REQUEST_TOO_LARGE, SERVICE_UNAVAILABLE */
  take(owner: string, bytes: number, refusal?: string): Promise<() => void>
  /** Registers a function that is called when there is no room for an owner. */
  onPressure(giveBack: () => void): void
  /** Takes or releases bytes. Returns false if there is no room for more. */
  change(owner: string, bytes: number): boolean
}

export class GraphMemoryReservation {
  readonly #shared: CompilationMemoryAccount
  readonly #owner: string
  readonly #bytes: number
  #isTaken: boolean
  #holders = 0

  /** `isTaken`: the memory is taken already, before the first holder. */
  constructor(
    shared: CompilationMemoryAccount,
    { owner, bytes, isTaken }: { owner: string; bytes: number; isTaken: boolean },
  ) {
    this.#shared = shared
    this.#owner = owner
    this.#bytes = bytes
    this.#isTaken = isTaken
  }

  /** Holds the memory until the result is disposed of. Returns null if there is no room. */
  hold(): Disposable | null {
    if (!this.#isTaken && !this.#shared.change(this.#owner, this.#bytes)) return null
    this.#isTaken = true
    this.#holders++
    let isHeld = true
    return {
      [Symbol.dispose]: () => {
        if (!isHeld) return
        isHeld = false
        this.#release()
      },
    }
  }

  #release(): void {
    if (--this.#holders > 0) return
    this.#isTaken = false
    this.#shared.change(this.#owner, -this.#bytes)
  }
}
