// Limits how much of one turn of the event loop requests take. A request that comes when that time is used waits for a later turn. Owners take turns.

/** Milliseconds of work on requests in one turn. Most requests take much less than one. */
const TURN_MS = 12

/** How many waiting requests go on in one turn: at first, and at most. */
const FIRST = 8
const MOST = 128

type Go = () => void

export class FairLine {
  /** By owner, the next one first. */
  readonly #waiting = new Map<string, Go[]>()
  /** When the first request of this turn came, in milliseconds of the monotonic clock; null where none has come. */
  #since: number | null = null
  /**
   * How many waiting requests go on in the next turn. Their work after the first promise belongs to the turn as well, and its cost shows only at the
   * end of the turn: after a turn that took too long the number is halved, after others doubled.
   */
  #many = FIRST

  /** Whether requests have used their time in this turn. Call it when work on a request begins. */
  isUsed(): boolean {
    if (this.#since !== null) return performance.now() - this.#since > TURN_MS
    this.#since = performance.now()
    setImmediate(this.#nextTurn)
    return false
  }

  /** Calls `go` at once, or in a later turn, behind earlier requests of the same owner. */
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

  /** Takes the first request of the next owner, who then comes behind all other owners. */
  #next(): Go {
    const [owner, waiting] = this.#waiting.entries().next().value!
    const go = waiting.shift()!
    this.#waiting.delete(owner)
    if (waiting.length > 0) this.#waiting.set(owner, waiting)
    return go
  }
}
