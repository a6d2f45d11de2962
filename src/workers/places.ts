// Gives out places: a place is the permission to use a processor, and there are few. Owners that wait are served in turns, so
// that the work of one owner never waits for all the work of another; the runs of one owner are served in turns as well.
import type { NodeError } from '../engine/node-error.ts'

/** A user: the same for all runs of that user, in whatever workspace. */
export type Owner = object | string

export interface Waiting {
  readonly owner: Owner
  /** The run that it belongs to; absent: none in particular. */
  readonly run?: object
  /** It has begun before, and goes on: it is served before what its owner has not begun. */
  readonly begun: boolean
  enter(): void
  refuse(error: NodeError): void
}

/** The waiting work of one run. */
interface Line {
  readonly begun: Set<Waiting>
  readonly fresh: Set<Waiting>
}

/** Stands for work that belongs to no run. */
const NO_RUN = {}

export class Places {
  readonly #limit: number
  /** How many places one owner may have while others wait. */
  readonly #share: number
  readonly #most_of_one: number | null
  /** Waiting work by owner and by run, each in the order of turns. No line is empty, and no owner is without lines. */
  readonly #lines = new Map<Owner, Map<object, Line>>()
  readonly #running = new Map<Owner, number>()
  #taken = 0

  /**
   * With `most_of_one` no owner has more places than that, not even while nobody waits, nor takes a further one unless more are free than it has:
   * what is held for long leaves some to many owners, of whom each gets less than the one before.
   */
  constructor(limit: number, most_of_one: number | null = null) {
    this.#limit = limit
    this.#most_of_one = most_of_one
    this.#share = Math.max(1, limit - 1)
  }

  /** Lets it enter, now or when it is its turn. */
  ask(waiting: Waiting): void {
    const { owner, run = NO_RUN } = waiting
    const runs = this.#lines.get(owner) ?? this.#join(owner)
    const line = runs.get(run) ?? { begun: new Set(), fresh: new Set() }
    runs.set(run, line)
    line[waiting.begun ? 'begun' : 'fresh'].add(waiting)
    this.#serve()
  }

  /** Whether the owner has a place at once: nobody waits, and there is one. */
  entersNow(owner: Owner): boolean {
    if (this.#lines.size > 0 || !this.#mayRun(owner)) return false
    this.#take(owner)
    return true
  }

  /** Resolves when the owner has a place. @throws the signal's reason, and what `refuseAll` is given */
  turn(owner: Owner, signal: AbortSignal, run: object = NO_RUN): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted()
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
      const waiting: Waiting = { owner, run, begun: false, enter, refuse }
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

  /** How many places an owner has. */
  taken(owner: Owner): number {
    return this.#running.get(owner) ?? 0
  }

  /** How many of an owner wait. */
  waiting(owner: Owner): number {
    const lines = [...(this.#lines.get(owner)?.values() ?? [])]
    return lines.reduce((sum, { begun, fresh }) => sum + begun.size + fresh.size, 0)
  }

  /** Whether nobody has a place, and nobody waits. */
  get isIdle(): boolean {
    return this.#taken === 0 && this.#lines.size === 0
  }

  /** Whether one owner has all places, so that one more is there for another owner. */
  get hasSpare(): boolean {
    return this.#taken === this.#limit && this.#running.size === 1 && this.#limit > this.#share
  }

  /** Whether another owner waits, or another run of this one. */
  isWanted(owner: Owner, run: object = NO_RUN): boolean {
    const runs = this.#lines.get(owner)
    return this.#othersWait(owner) || (runs !== undefined && runs.size > (runs.has(run) ? 1 : 0))
  }

  refuseAll(error: () => NodeError): void {
    const lines = [...this.#lines.values()].flatMap((runs) => [...runs.values()])
    const all = lines.flatMap(({ begun, fresh }) => [...begun, ...fresh])
    this.#lines.clear()
    for (const waiting of all) waiting.refuse(error())
  }

  #serve(): void {
    for (let next = this.#next(); next; next = this.#next()) {
      this.#remove(next)
      this.#moveBack(next)
      this.#take(next.owner)
      next.enter()
    }
  }

  #take(owner: Owner): void {
    this.#taken++
    this.#running.set(owner, this.taken(owner) + 1)
  }

  /** An owner that has no place comes before all that have one. */
  #join(owner: Owner): Map<object, Line> {
    const runs = new Map<object, Line>()
    this.#lines.set(owner, runs)
    if (this.taken(owner) > 0) return runs
    for (const [other, others] of [...this.#lines]) if (this.taken(other) > 0) toEnd(this.#lines, other, others)
    return runs
  }

  /** The next turn of its owner comes after that of all others, and so does the turn of its run within its owner. */
  #moveBack({ owner, run = NO_RUN }: Waiting): void {
    const runs = this.#lines.get(owner)
    if (!runs) return
    toEnd(this.#lines, owner, runs)
    const line = runs.get(run)
    if (line) toEnd(runs, run, line)
  }

  #next(): Waiting | undefined {
    for (const [owner, runs] of this.#lines) if (this.#mayRun(owner)) return firstOf(runs)
    return undefined
  }

  #othersWait(owner: Owner): boolean {
    return this.#lines.size > (this.#lines.has(owner) ? 1 : 0)
  }

  #mayRun(owner: Owner): boolean {
    const own = this.taken(owner)
    if (this.#most_of_one !== null) return own < Math.min(this.#most_of_one, this.#limit - this.#taken)
    if (own >= this.#share && this.#othersWait(owner)) return false
    if (this.#taken < this.#limit) return true
    // Who has all places took them while nobody waited, and may keep them for long: one more is for the others.
    return own === 0 && this.hasSpare
  }

  #remove(waiting: Waiting): void {
    const { owner, run = NO_RUN } = waiting
    const runs = this.#lines.get(owner)
    const line = runs?.get(run)
    if (!runs || !line) return
    line[waiting.begun ? 'begun' : 'fresh'].delete(waiting)
    if (line.begun.size + line.fresh.size === 0) runs.delete(run)
    if (runs.size === 0) this.#lines.delete(owner)
  }
}

/** What has begun goes on before anything of its owner begins. */
function firstOf(runs: ReadonlyMap<object, Line>): Waiting | undefined {
  for (const { begun } of runs.values()) for (const waiting of begun) return waiting
  for (const { fresh } of runs.values()) for (const waiting of fresh) return waiting
  return undefined
}

function toEnd<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
  map.delete(key)
  map.set(key, value)
}
