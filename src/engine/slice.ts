// Whose turn the thread is: a run and the workflows that it calls share one slice of synchronous work. When it has
// passed, they wait until timers, sockets and cancels have had their turn.

/** Milliseconds of work before the event loop gets its turn. */
const SLICE = 8

export class Slice {
  /** In the order in which they asked. */
  readonly #waiting = new Set<() => void>()
  #immediate: NodeJS.Immediate | null = null
  /** When the slice began; null before the first work. */
  #start: number | null = null

  /** Whether the slice has passed at a time (milliseconds of the monotonic clock). */
  passed(now: number): boolean {
    this.#start ??= now
    return now - this.#start >= SLICE
  }

  /** Has `work` called in a later turn of the event loop; once, however often it is asked for. */
  later(work: () => void): void {
    this.#waiting.add(work)
    this.#immediate ??= setImmediate(this.#serve)
  }

  forget(work: () => void): void {
    this.#waiting.delete(work)
    if (this.#waiting.size > 0 || !this.#immediate) return
    clearImmediate(this.#immediate)
    this.#immediate = null
  }

  /** Resolves as soon as there is time left: at once, or in a later turn of the event loop. */
  async turn(): Promise<void> {
    // Those who waited before may have used the next slice up too, so it asks again.
    while (this.passed(performance.now())) await new Promise<void>((resolve) => this.later(resolve))
  }

  /** Begins a slice and gives it to those who wait, as far as it goes. */
  readonly #serve = (): void => {
    this.#immediate = null
    this.#start = performance.now()
    for (const work of [...this.#waiting]) {
      if (!this.#waiting.delete(work)) continue
      work()
      if (this.passed(performance.now())) break
    }
    if (this.#waiting.size > 0) this.#immediate ??= setImmediate(this.#serve)
  }
}
