// What is under way in one run: how many asynchronous pieces of work there are, and how many firings wait without being one.

export class InFlightCounter {
  #all = 0
  /** How many of them are wanted, and how many of those wait for nothing but the workflows that they call. */
  #wanted = 0
  #waiting = 0
  /** Firings that wait to be answered. */
  waitingFirings = 0

  get isEmpty(): boolean {
    return this.#all === 0
  }

  /** Whether nothing of what is wanted goes on by itself. */
  get isQuiescent(): boolean {
    return this.#wanted === this.#waiting
  }

  /** Whether something goes on that nobody wants any more. */
  get hasLeftovers(): boolean {
    return this.#all > this.#wanted
  }

  begin(isWanted: boolean): void {
    this.#all++
    if (isWanted) this.#wanted++
  }

  /** Nobody wants a piece of work any more. */
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
