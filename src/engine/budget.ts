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

  /** Gives a place back and wakes those who wait, the longest waiting first, until it is taken. */
  giveBack(): void {
    this.#used--
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
