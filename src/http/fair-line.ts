// How much of one turn of the event loop requests take: what comes when others have used it waits for a turn of its own. Owners take turns.

/** Milliseconds of work on requests in one turn. Most requests take less than one. */
const TURN_MS = 10

type Go = () => void

export class FairLine {
  /** By owner, the next one first. */
  readonly #waiting = new Map<string, Go[]>()
  /** When the first request of this turn was looked at, in milliseconds of the monotonic clock; null where none was. */
  #since: number | null = null

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

  /** One of those who wait goes on in each turn: what it does after its first promise belongs to the turn as well, and shows its cost late. */
  readonly #nextTurn = (): void => {
    this.#since = null
    const next = this.#waiting.entries().next()
    if (next.done) return
    const [owner, waiting] = next.value
    const go = waiting.shift()!
    this.#waiting.delete(owner)
    if (waiting.length > 0) this.#waiting.set(owner, waiting)
    this.isUsed()
    go()
  }
}
