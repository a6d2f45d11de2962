// Room for one large graph that is compiled, in the account of what requests take: taken by the first who holds it, and given back by the last.

/** The account. */
export interface CompilationMemoryAccount {
  /** Waits for room, and gives what gives it back. @throws REQUEST_TOO_LARGE, SERVICE_UNAVAILABLE */
  take(owner: string, bytes: number, refusal?: string): Promise<() => void>
  /** Has `giveBack` called where there is no room for somebody. */
  onPressure(giveBack: () => void): void
  /** So many bytes more, or less. False: there is no room for more. */
  change(owner: string, bytes: number): boolean
}

export class GraphMemoryReservation {
  readonly #shared: CompilationMemoryAccount
  readonly #owner: string
  readonly #bytes: number
  #isTaken: boolean
  #holders = 0

  /** `isTaken`: the first holder finds it taken. */
  constructor(
    shared: CompilationMemoryAccount,
    { owner, bytes, isTaken }: { owner: string; bytes: number; isTaken: boolean },
  ) {
    this.#shared = shared
    this.#owner = owner
    this.#bytes = bytes
    this.#isTaken = isTaken
  }

  /** Holds it until that is disposed of. Null: there is no room. */
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
