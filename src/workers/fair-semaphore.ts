// Gives out places: a place is the permission to use a processor, and there are few. Owners that wait are served in turns, so
// that the work of one owner never waits for all the work of another; the runs of one owner are served in turns as well.
import type { NodeError } from '../engine/node-api/node-error.ts'

/** A user: the same for all runs of that user, in whatever workspace. */
export type OwnerKey = object | string

export interface PermitRequest {
  readonly owner: OwnerKey
  /** The run that it belongs to; absent: none in particular. */
  readonly run?: object
  /** It has begun before, and goes on: it is served before what its owner has not begun. */
  readonly hasBegun: boolean
  grant(): void
  reject(error: NodeError): void
}

/** The waiting work of one run. */
interface RunQueue {
  readonly begun: Set<PermitRequest>
  readonly fresh: Set<PermitRequest>
}

/** Stands for work that belongs to no run. */
const NO_RUN = {}

export class FairSemaphore {
  readonly #limit: number
  /** How many places one owner may have while others wait. */
  readonly #ownerLimit: number
  readonly #strictOwnerLimit: number | null
  /** Waiting work by owner and by run, each in the order of turns. No line is empty, and no owner is without lines. */
  readonly #queues = new Map<OwnerKey, Map<object, RunQueue>>()
  readonly #permitsByOwner = new Map<OwnerKey, number>()
  #permitsTaken = 0

  /**
   * With `most_of_one` no owner has more places than that, not even while nobody waits, nor takes a further one unless more are free than it has:
   * what is held for long leaves some to many owners, of whom each gets less than the one before.
   */
  constructor(limit: number, most_of_one: number | null = null) {
    this.#limit = limit
    this.#strictOwnerLimit = most_of_one
    this.#ownerLimit = Math.max(1, limit - 1)
  }

  /** Lets it enter, now or when it is its turn. */
  request(waiting: PermitRequest): void {
    const { owner, run = NO_RUN } = waiting
    const runs = this.#queues.get(owner) ?? this.#addOwner(owner)
    const line = runs.get(run) ?? { begun: new Set(), fresh: new Set() }
    runs.set(run, line)
    line[waiting.hasBegun ? 'begun' : 'fresh'].add(waiting)
    this.#grantNext()
  }

  /** Whether the owner has a place at once: nobody waits, and there is one. */
  tryAcquire(owner: OwnerKey): boolean {
    if (this.#queues.size > 0 || !this.#canAcquire(owner)) return false
    this.#take(owner)
    return true
  }

  /** Resolves when the owner has a place. @throws the signal's reason, and what `refuseAll` is given */
  acquire(owner: OwnerKey, signal: AbortSignal, run: object = NO_RUN): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted()
      const leave = () => signal.removeEventListener('abort', abort)
      const abort = () => {
        leave()
        this.cancel(waiting)
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
      const waiting: PermitRequest = { owner, run, hasBegun: false, grant: enter, reject: refuse }
      signal.addEventListener('abort', abort, { once: true })
      this.request(waiting)
    })
  }

  /** It waits no longer. */
  cancel(waiting: PermitRequest): void {
    this.#remove(waiting)
    this.#grantNext()
  }

  release(owner: OwnerKey): void {
    this.#permitsTaken--
    const left = this.#permitsByOwner.get(owner)! - 1
    if (left > 0) this.#permitsByOwner.set(owner, left)
    else this.#permitsByOwner.delete(owner)
    this.#grantNext()
  }

  /** How many places an owner has. */
  countTaken(owner: OwnerKey): number {
    return this.#permitsByOwner.get(owner) ?? 0
  }

  /** How many of an owner wait. */
  countWaiting(owner: OwnerKey): number {
    const lines = [...(this.#queues.get(owner)?.values() ?? [])]
    return lines.reduce((sum, { begun, fresh }) => sum + begun.size + fresh.size, 0)
  }

  /** Whether nobody has a place, and nobody waits. */
  get isIdle(): boolean {
    return this.#permitsTaken === 0 && this.#queues.size === 0
  }

  /** Whether one owner has all places, so that one more is there for another owner. */
  get hasSpare(): boolean {
    return this.#permitsTaken === this.#limit && this.#permitsByOwner.size === 1 && this.#limit > this.#ownerLimit
  }

  /** Whether another owner waits, or another run of this one. */
  hasOtherWaiters(owner: OwnerKey, run: object = NO_RUN): boolean {
    const runs = this.#queues.get(owner)
    return this.#doOthersWait(owner) || (runs !== undefined && runs.size > (runs.has(run) ? 1 : 0))
  }

  rejectAll(error: () => NodeError): void {
    const lines = [...this.#queues.values()].flatMap((runs) => [...runs.values()])
    const all = lines.flatMap(({ begun, fresh }) => [...begun, ...fresh])
    this.#queues.clear()
    for (const waiting of all) waiting.reject(error())
  }

  #grantNext(): void {
    for (let next = this.#nextRequest(); next; next = this.#nextRequest()) {
      this.#remove(next)
      this.#moveToEnd(next)
      this.#take(next.owner)
      next.grant()
    }
  }

  #take(owner: OwnerKey): void {
    this.#permitsTaken++
    this.#permitsByOwner.set(owner, this.countTaken(owner) + 1)
  }

  /** An owner that has no place comes before all that have one. */
  #addOwner(owner: OwnerKey): Map<object, RunQueue> {
    const runs = new Map<object, RunQueue>()
    this.#queues.set(owner, runs)
    if (this.countTaken(owner) > 0) return runs
    for (const [other, others] of [...this.#queues])
      if (this.countTaken(other) > 0) moveToEnd(this.#queues, other, others)
    return runs
  }

  /** The next turn of its owner comes after that of all others, and so does the turn of its run within its owner. */
  #moveToEnd({ owner, run = NO_RUN }: PermitRequest): void {
    const runs = this.#queues.get(owner)
    if (!runs) return
    moveToEnd(this.#queues, owner, runs)
    const line = runs.get(run)
    if (line) moveToEnd(runs, run, line)
  }

  #nextRequest(): PermitRequest | undefined {
    for (const [owner, runs] of this.#queues) if (this.#canAcquire(owner)) return findFirstRequest(runs)
    return undefined
  }

  #doOthersWait(owner: OwnerKey): boolean {
    return this.#queues.size > (this.#queues.has(owner) ? 1 : 0)
  }

  #canAcquire(owner: OwnerKey): boolean {
    const own = this.countTaken(owner)
    if (this.#strictOwnerLimit !== null) return own < Math.min(this.#strictOwnerLimit, this.#limit - this.#permitsTaken)
    if (own >= this.#ownerLimit && this.#doOthersWait(owner)) return false
    if (this.#permitsTaken < this.#limit) return true
    // Who has all places took them while nobody waited, and may keep them for long: one more is for the others.
    return own === 0 && this.hasSpare
  }

  #remove(waiting: PermitRequest): void {
    const { owner, run = NO_RUN } = waiting
    const runs = this.#queues.get(owner)
    const line = runs?.get(run)
    if (!runs || !line) return
    line[waiting.hasBegun ? 'begun' : 'fresh'].delete(waiting)
    if (line.begun.size + line.fresh.size === 0) runs.delete(run)
    if (runs.size === 0) this.#queues.delete(owner)
  }
}

/** What has begun goes on before anything of its owner begins. */
function findFirstRequest(runs: ReadonlyMap<object, RunQueue>): PermitRequest | undefined {
  for (const { begun } of runs.values()) for (const waiting of begun) return waiting
  for (const { fresh } of runs.values()) for (const waiting of fresh) return waiting
  return undefined
}

function moveToEnd<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
  map.delete(key)
  map.set(key, value)
}
