// What is under way in one run: how many asynchronous pieces of work there are, and how many firings wait without being one.

export class Flight {
  #all = 0
  /** How many of them are wanted, and how many of those wait for nothing but the workflows that they call. */
  #wanted = 0
  #still = 0
  /** Firings that wait to be answered. */
  parked = 0

  get empty(): boolean {
    return this.#all === 0
  }

  /** Whether nothing of what is wanted goes on by itself. */
  get resting(): boolean {
    return this.#wanted === this.#still
  }

  /** Whether something goes on that nobody wants any more. */
  get leftovers(): boolean {
    return this.#all > this.#wanted
  }

  begin(wanted: boolean): void {
    this.#all++
    if (wanted) this.#wanted++
  }

  /** Nobody wants a piece of work any more. */
  release(): void {
    this.#wanted--
  }

  end(wanted: boolean): void {
    this.#all--
    if (wanted) this.#wanted--
  }

  stilled(still: boolean): void {
    this.#still += still ? 1 : -1
  }
}
