// Whose turn it is to run: a place is the permission to use a processor, and there are few. Owners that wait are served in
// turns, so that nobody's code waits for all the code of another. What runs in a place, pool.ts knows.
import type { NodeError } from '../engine/node-error.ts'

/** Whoever code runs for: the same for all code of one run. */
export type Owner = object | string

export interface Waiting {
  readonly owner: Owner
  /** It has begun before, and goes on: it is served before what its owner has not begun. */
  readonly begun: boolean
  enter(): void
  refuse(error: NodeError): void
}

interface Line {
  readonly begun: Set<Waiting>
  readonly fresh: Set<Waiting>
}

export class Places {
  readonly #limit: number
  /** How many places one owner may have while others wait. */
  readonly #share: number
  /** Who waits, by owner, in the order of their turns. No line is empty. */
  readonly #lines = new Map<Owner, Line>()
  readonly #running = new Map<Owner, number>()
  #taken = 0

  constructor(limit: number) {
    this.#limit = limit
    this.#share = Math.max(1, limit - 1)
  }

  /** Lets it enter, now or when it is its turn. */
  ask(waiting: Waiting): void {
    const line = this.#lines.get(waiting.owner) ?? { begun: new Set(), fresh: new Set() }
    this.#lines.set(waiting.owner, line)
    line[waiting.begun ? 'begun' : 'fresh'].add(waiting)
    this.#serve()
  }

  /** Resolves when the owner has a place. @throws the signal's reason, and what `refuseAll` is given */
  turn(owner: Owner, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => signal.removeEventListener('abort', abort)
      const abort = () => {
        leave()
        this.forget(waiting)
        reject(signal.reason)
      }
      const enter = () => {
        leave()
        resolve()
      }
      const refuse = (error: NodeError) => {
        leave()
        reject(error)
      }
      const waiting: Waiting = { owner, begun: false, enter, refuse }
      signal.addEventListener('abort', abort, { once: true })
      this.ask(waiting)
    })
  }

  /** It waits no longer. */
  forget(waiting: Waiting): void {
    this.#remove(waiting)
    this.#serve()
  }

  giveBack(owner: Owner): void {
    this.#taken--
    const left = this.#running.get(owner)! - 1
    if (left > 0) this.#running.set(owner, left)
    else this.#running.delete(owner)
    this.#serve()
  }

  /** Whether somebody else waits. */
  isWanted(owner: Owner): boolean {
    return this.#lines.size > (this.#lines.has(owner) ? 1 : 0)
  }

  refuseAll(error: () => NodeError): void {
    const all = [...this.#lines.values()].flatMap(({ begun, fresh }) => [...begun, ...fresh])
    this.#lines.clear()
    for (const waiting of all) waiting.refuse(error())
  }

  #serve(): void {
    for (let next = this.#next(); next; next = this.#next()) {
      this.#remove(next)
      // Its owner's next turn comes after that of all others.
      const line = this.#lines.get(next.owner)
      if (line) {
        this.#lines.delete(next.owner)
        this.#lines.set(next.owner, line)
      }
      this.#taken++
      this.#running.set(next.owner, (this.#running.get(next.owner) ?? 0) + 1)
      next.enter()
    }
  }

  #next(): Waiting | undefined {
    for (const [owner, { begun, fresh }] of this.#lines) {
      if (!this.#mayRun(owner)) continue
      const [first] = begun.size > 0 ? begun : fresh
      return first
    }
    return undefined
  }

  #mayRun(owner: Owner): boolean {
    const own = this.#running.get(owner) ?? 0
    if (own >= this.#share && this.isWanted(owner)) return false
    if (this.#taken < this.#limit) return true
    // Who has all places took them while nobody waited, and may keep them for long: one more is for the others.
    return own === 0 && this.#taken === this.#limit && this.#running.size === 1 && this.#limit > this.#share
  }

  #remove(waiting: Waiting): void {
    const line = this.#lines.get(waiting.owner)
    line?.[waiting.begun ? 'begun' : 'fresh'].delete(waiting)
    if (line && line.begun.size + line.fresh.size === 0) this.#lines.delete(waiting.owner)
  }
}
