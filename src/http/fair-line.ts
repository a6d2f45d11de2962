// Limits how much of one turn of the event loop requests take. A request that comes when that time is used waits for a later turn. Owners take turns.

/** Milliseconds of work on requests in one turn. Most requests take much less than one. */
const TURN_MS = 12

/** How many waiting requests may go on in one turn. */
const MOST = 128

type Go = () => void

export class FairLine {
  /** By owner, the next one first. */
  readonly #waiting = new Map<string, Go[]>()
  #count = 0
  /** When the first request of this turn came, in milliseconds of the monotonic clock; null where none has come. */
  #since: number | null = null

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
    if (!waiting && !this.isUsed()) return go()
    if (waiting) waiting.push(go)
    else this.#waiting.set(owner, [go])
    this.#count++
  }

  /**
   * One waiting request goes on in each turn, and others while there is time. Each has an immediate of its own: Node runs what waits for promises
   * before the next immediate, so that the cost of a request shows before the next one goes on.
   */
  readonly #nextTurn = (): void => {
    this.#since = null
    if (this.#count === 0) return
    this.isUsed()
    this.#next()()
    for (let left = Math.min(this.#count, MOST); left > 0; left--) setImmediate(this.#goOn)
  }

  readonly #goOn = (): void => {
    if (this.#count > 0 && !this.isUsed()) this.#next()()
  }

  /** Takes the first request of the next owner, who then comes behind all other owners. */
  #next(): Go {
    const [owner, waiting] = this.#waiting.entries().next().value!
    const go = waiting.shift()!
    this.#waiting.delete(owner)
    if (waiting.length > 0) this.#waiting.set(owner, waiting)
    this.#count--
    return go
  }
}
