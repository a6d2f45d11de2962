// Limits how much of one turn of the event loop requests take. A request that comes when that time is used waits for a later turn. Owners take turns.
import { OwnerLines } from '../owner-lines.ts'
import { hasTurn, turnMs } from '../time-slices.ts'

/** Milliseconds of work on requests in one turn. Most requests take much less than one. */
const TURN_MS = 6

/** How many waiting requests may go on in one turn. */
const MOST = 128

type Go = () => void

export class FairLine {
  readonly #waiting = new OwnerLines<Go>()
  /** When the first request of this turn came, in milliseconds of the monotonic clock; null where none has come. */
  #since: number | null = null

  /** Whether requests have used their time in this turn. Call it when work on a request begins. */
  isUsed(): boolean {
    if (this.#since === null) {
      this.#since = performance.now()
      setImmediate(this.#nextTurn)
    }
    return !hasTurn() || performance.now() - this.#since > turnMs(TURN_MS)
  }

  /** Calls `go` at once, or in a later turn, behind earlier requests of the same owner. */
  enter(owner: string, go: Go): void {
    if (!this.#waiting.has(owner) && !this.isUsed()) return go()
    this.#waiting.add(owner, go)
  }

  /**
   * One waiting request goes on in each turn that requests have, and others while there is time. Each has an immediate of its own: Node runs what waits
   * for promises before the next immediate, so that the cost of a request shows before the next one goes on. These come a turn later: they are asked for in each
   * turn, as those that requests have may not follow each other.
   */
  readonly #nextTurn = (): void => {
    this.#since = null
    if (this.#waiting.size === 0) return
    if (!this.isUsed()) this.#waiting.take()?.()
    for (let left = Math.min(this.#waiting.size, MOST); left > 0; left--) setImmediate(this.#goOn)
  }

  readonly #goOn = (): void => {
    if (this.#waiting.size > 0 && !this.isUsed()) this.#waiting.take()?.()
  }
}
