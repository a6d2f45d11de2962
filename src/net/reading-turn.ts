// How long bytes of peers are taken apart in one turn of the event loop. A packet may hold thousands of frames or chunks, which cost milliseconds, and
// packets of very many connections may come at once.

/** Milliseconds, in all connections together. The packet that is taken apart then is taken to its end. */
const TURN_MS = 8

/** A connection. */
export interface Line {
  /** Reads nothing more until `resume`. */
  pause(): void
  resume(): void
}

/** Of connections of one kind: what came on those of another does not wait for them. */
export class ReadingTurn {
  /** Those that were read from last come last. */
  readonly #lines = new Set<Line>()
  /** Paused until the next turn. */
  #paused: readonly Line[] = []
  /** When a turn's first packet was taken apart; null before. */
  #since: number | null = null

  add(line: Line): void {
    this.#lines.add(line)
  }

  remove(line: Line): void {
    this.#lines.delete(line)
  }

  /** Something from the line was taken apart. */
  took(line: Line): void {
    if (this.#since === null) {
      this.#since = performance.now()
      setImmediate(this.#next)
    }
    if (this.#lines.delete(line)) this.#lines.add(line)
    if (this.#paused.length > 0 || performance.now() - this.#since < TURN_MS) return
    this.#paused = [...this.#lines]
    for (const one of this.#paused) one.pause()
  }

  readonly #next = (): void => {
    this.#since = null
    const paused = this.#paused
    this.#paused = []
    for (const one of paused) one.resume()
  }
}
