// How much of one turn of the event loop requests take: what comes when others have used it waits for a later turn. Owners take turns.

/** Milliseconds of work on requests in one turn. Most requests take much less than one. */
const TURN_MS = 12

/** How many of those who wait go on in one turn: the first ones of many, and at the most. */
const FIRST = 8
const MOST = 128

type Go = () => void

export class FairLine {
  /** By owner, the next one first. */
  readonly #waiting = new Map<string, Go[]>()
  /** When the first request of this turn was looked at, in milliseconds of the monotonic clock; null where none was. */
  #since: number | null = null
  /**
   * How many of those who wait go on in the next turn. What they do after their first promise belongs to the turn as well, and shows its cost only
   * at its end: after a turn that took too long it is half as many, after others twice as many.
   */
  #many = FIRST

  /** Whether requests have had all of this turn that they get. To be asked when work on a request begins. */
  isUsed(): boolean {
    if (this.#since !== null) return performance.now() - this.#since > TURN_MS
    this.#since = performance.now()
    setImmediate(this.#nextTurn)
    return false
  }

  /** Calls `go` at once, or in a later turn, behind what came before it from the same owner. */
  enter(owner: string, go: Go): void {
    const waiting = this.#waiting.get(owner)
    if (waiting) waiting.push(go)
    else if (this.isUsed()) this.#waiting.set(owner, [go])
    else go()
  }

  readonly #nextTurn = (): void => {
    if (this.#waiting.size === 0) this.#many = FIRST
    else if (this.isUsed()) this.#many = Math.max(1, this.#many >> 1)
    else this.#many = Math.min(MOST, this.#many * 2)
    this.#since = null
    for (let left = this.#many; left > 0 && this.#waiting.size > 0 && !this.isUsed(); left--) this.#next()()
  }

  /** The next one of its owner comes after those of all other owners. */
  #next(): Go {
    const [owner, waiting] = this.#waiting.entries().next().value!
    const go = waiting.shift()!
    this.#waiting.delete(owner)
    if (waiting.length > 0) this.#waiting.set(owner, waiting)
    return go
  }
}
