// How many asynchronous firings may be in flight at once. A run and its sub-workflows share one budget.

export class Budget {
  readonly #limit: number
  readonly #waiting = new Set<() => void>()
  #used = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get free(): boolean {
    return this.#used < this.#limit
  }

  /** Takes a place, even beyond the limit: whether a firing is asynchronous may show only once it has begun. */
  take(): void {
    this.#used++
  }

  /** Gives a place back. Call `wakeWaiting` once the giver has taken what it needs itself. */
  giveBack(): void {
    this.#used--
  }

  /** Wakes those who wait for a place, the longest waiting first, until none is free. */
  wakeWaiting(): void {
    for (const wake of [...this.#waiting]) {
      if (!this.free) return
      this.#waiting.delete(wake)
      wake()
    }
  }

  wait(wake: () => void): void {
    this.#waiting.add(wake)
  }

  forget(wake: () => void): void {
    this.#waiting.delete(wake)
  }
}
