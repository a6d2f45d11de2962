// Limits the time of requests in one turn of the event loop. A request that comes when that time is used waits for a later turn. Owners take turns.
import { FairQueue } from '../../shared/fair-queue.ts'
import { eventLoopTurnMs, hasEventLoopTurn } from '../../shared/time-slices.ts'

/** Milliseconds of work on requests in one turn. Most requests take much less than a millisecond. */
const TURN_MS = 6

/** Waiting requests that may continue in one turn. */
const MAX_RESUMED_PER_TURN = 128

type Continuation = () => void

export class RequestScheduler {
  readonly #waiting = new FairQueue<Continuation>()
  /** When the first request of this turn came, in milliseconds of the monotonic clock; null if none has come. */
  #turn_started_at: number | null = null

  /** Whether requests have used their time in this turn. Call it when work on a request begins. */
  isUsed(): boolean {
    if (this.#turn_started_at === null) {
      this.#turn_started_at = performance.now()
      setImmediate(this.#nextTurn)
    }
    return !hasEventLoopTurn() || performance.now() - this.#turn_started_at > eventLoopTurnMs(TURN_MS)
  }

  /** Calls `go` at once, or in a later turn, behind earlier requests of the same owner. */
  schedule(owner: string, go: Continuation): void {
    if (!this.#waiting.has(owner) && !this.isUsed()) return go()
    this.#waiting.add(owner, go)
  }

  /**
   * In each turn with requests, at least one waiting request continues, and others while time is left. Each has an immediate of its own: Node runs
   * microtasks between immediates, so the cost of a request shows before the next continues. These immediates run a turn later, so each turn
   * schedules them anew.
   */
  readonly #nextTurn = (): void => {
    this.#turn_started_at = null
    if (this.#waiting.size === 0) return
    if (!this.isUsed()) this.#waiting.take()?.()
    for (let count = Math.min(this.#waiting.size, MAX_RESUMED_PER_TURN); count > 0; count--) setImmediate(this.#runNext)
  }

  readonly #runNext = (): void => {
    if (this.#waiting.size > 0 && !this.isUsed()) this.#waiting.take()?.()
  }
}
