// Counts the asynchronous work of one run in flight, and the firings that wait without any.

export class InFlightCounter {
  #all = 0
  /** Wanted pieces of work, and how many of them wait only for called workflows. */
  #wanted = 0
  #waiting = 0
  /** Firings that wait for an answer. */
  waitingFirings = 0

  get isEmpty(): boolean {
    return this.#all === 0
  }

  /** Whether none of the wanted work can continue by itself. */
  get isQuiescent(): boolean {
    return this.#wanted === this.#waiting
  }

  /** Whether unwanted work is in flight. */
  get hasLeftovers(): boolean {
    return this.#all > this.#wanted
  }

  begin(isWanted: boolean): void {
    this.#all++
    if (isWanted) this.#wanted++
  }

  /** A piece of work is no longer wanted. */
  release(): void {
    this.#wanted--
  }

  end(isWanted: boolean): void {
    this.#all--
    if (isWanted) this.#wanted--
  }

  countWaiting(isWaiting: boolean): void {
    this.#waiting += isWaiting ? 1 : -1
  }
}
