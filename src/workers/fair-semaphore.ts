// Hands out permits to use a processor, of which there are few. Waiting owners are served in turns, so that the work of one never waits for
// all the work of another; the runs of one owner are served in turns as well.
import type { NodeError } from '../engine/node-api/node-error.ts'

/** A user: equal for all runs of that user, in every workspace. */
export type OwnerKey = object | string

export interface PermitRequest {
  readonly owner: OwnerKey
  /** The run of the work; absent: no particular run. */
  readonly run?: object
  /** Whether the work has begun before. It is then served before new work of its owner. */
  readonly hasBegun: boolean
  grant(): void
  reject(error: NodeError): void
}

/** The waiting work of one run. */
interface RunQueue {
  readonly begun: Set<PermitRequest>
  readonly fresh: Set<PermitRequest>
}

/** The key of work that belongs to no run. */
const NO_RUN = {}

export class FairSemaphore {
  readonly #limit: number
  /** The limit of permits per owner while others wait. */
  readonly #ownerLimit: number
  readonly #strictOwnerLimit: number | null
  /** Waiting work by owner and run, in the order of turns. No queue is empty, and no owner is without queues. */
  readonly #queues = new Map<OwnerKey, Map<object, RunQueue>>()
  readonly #permitsByOwner = new Map<OwnerKey, number>()
  #permitsTaken = 0

  /**
   * `strictOwnerLimit` limits the permits of each owner even while no other owner waits. An owner also gets a further permit only if more are
   * free than the owner holds. Thus permits held for long leave some to many owners, to each fewer than to the one before.
   */
  constructor(limit: number, strictOwnerLimit: number | null = null) {
    this.#limit = limit
    this.#strictOwnerLimit = strictOwnerLimit
    this.#ownerLimit = Math.max(1, limit - 1)
  }

  /** Grants a permit, now or when it is the owner's turn. */
  request(waiting: PermitRequest): void {
    const { owner, run = NO_RUN } = waiting
    const runs = this.#queues.get(owner) ?? this.#addOwner(owner)
    const queue = runs.get(run) ?? { begun: new Set(), fresh: new Set() }
    runs.set(run, queue)
    queue[waiting.hasBegun ? 'begun' : 'fresh'].add(waiting)
    this.#grantNext()
  }

  /** Takes a permit if one is free and no owner waits; otherwise returns false. */
  tryAcquire(owner: OwnerKey): boolean {
    if (this.#queues.size > 0 || !this.#canAcquire(owner)) return false
    this.#take(owner)
    return true
  }

  /** Resolves when the owner has a permit. @throws the signal's reason; the error given to `rejectAll` */
  acquire(owner: OwnerKey, signal: AbortSignal, run: object = NO_RUN): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted()
      const leave = () => signal.removeEventListener('abort', abort)
      const abort = () => {
        leave()
        this.cancel(waiting)
        reject(signal.reason)
      }
      const grant = () => {
        leave()
        resolve()
      }
      const fail = (error: NodeError) => {
        leave()
        reject(error)
      }
      const waiting: PermitRequest = { owner, run, hasBegun: false, grant, reject: fail }
      signal.addEventListener('abort', abort, { once: true })
      this.request(waiting)
    })
  }

  /** Withdraws a request. */
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

  /** The number of permits that an owner holds. */
  countTaken(owner: OwnerKey): number {
    return this.#permitsByOwner.get(owner) ?? 0
  }

  /** The number of an owner's waiting requests. */
  countWaiting(owner: OwnerKey): number {
    const queues = [...(this.#queues.get(owner)?.values() ?? [])]
    return queues.reduce((sum, { begun, fresh }) => sum + begun.size + fresh.size, 0)
  }

  /** Whether no owner holds or awaits a permit. */
  get isIdle(): boolean {
    return this.#permitsTaken === 0 && this.#queues.size === 0
  }

  /** Whether one owner holds all permits, so that one extra permit is available to another owner. */
  get hasSpare(): boolean {
    return this.#permitsTaken === this.#limit && this.#permitsByOwner.size === 1 && this.#limit > this.#ownerLimit
  }

  /** Whether another owner waits, or another run of this owner. */
  hasOtherWaiters(owner: OwnerKey, run: object = NO_RUN): boolean {
    const runs = this.#queues.get(owner)
    return this.#doOthersWait(owner) || (runs !== undefined && runs.size > (runs.has(run) ? 1 : 0))
  }

  rejectAll(error: () => NodeError): void {
    const queues = [...this.#queues.values()].flatMap((runs) => [...runs.values()])
    const all = queues.flatMap(({ begun, fresh }) => [...begun, ...fresh])
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

  /** An owner without a permit comes before all owners that hold one. */
  #addOwner(owner: OwnerKey): Map<object, RunQueue> {
    const runs = new Map<object, RunQueue>()
    this.#queues.set(owner, runs)
    if (this.countTaken(owner) > 0) return runs
    for (const [other, others] of [...this.#queues])
      if (this.countTaken(other) > 0) moveToEnd(this.#queues, other, others)
    return runs
  }

  /** Moves the owner behind all other owners, and the run behind the owner's other runs. */
  #moveToEnd({ owner, run = NO_RUN }: PermitRequest): void {
    const runs = this.#queues.get(owner)
    if (!runs) return
    moveToEnd(this.#queues, owner, runs)
    const queue = runs.get(run)
    if (queue) moveToEnd(runs, run, queue)
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
    // An owner that took all permits while no other waited may keep them for long: one extra permit is for the others.
    return own === 0 && this.hasSpare
  }

  #remove(waiting: PermitRequest): void {
    const { owner, run = NO_RUN } = waiting
    const runs = this.#queues.get(owner)
    const queue = runs?.get(run)
    if (!runs || !queue) return
    queue[waiting.hasBegun ? 'begun' : 'fresh'].delete(waiting)
    if (queue.begun.size + queue.fresh.size === 0) runs.delete(run)
    if (runs.size === 0) this.#queues.delete(owner)
  }
}

/** Work that has begun is served before new work of the same owner. */
function findFirstRequest(runs: ReadonlyMap<object, RunQueue>): PermitRequest | undefined {
  for (const { begun } of runs.values()) for (const waiting of begun) return waiting
  for (const { fresh } of runs.values()) for (const waiting of fresh) return waiting
  return undefined
}

function moveToEnd<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
  map.delete(key)
  map.set(key, value)
}
