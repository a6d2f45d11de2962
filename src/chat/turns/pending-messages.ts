// Messages that are to be answered, each from when it is said until its turn has ended: whoever may stop one may do so at any time between.
import { type OwnerScope, ownerScopeKey } from '../../db/owner-scope.ts'

interface Interruptible {
  interrupt(): void
}

export class PendingMessage {
  /** Settles when the message is stored and its turn has begun. @throws what refuses it */
  readonly begun: Promise<void>
  /** Resolves when the turn has ended, or the message was refused. */
  readonly ended: Promise<void>
  #turn: Interruptible | null = null
  #isStopped = false

  /** `work` has the message stored, and its turn begun; what it gives settles when that has ended. */
  constructor(work: (saying: PendingMessage) => Promise<{ readonly ended: Promise<void> }>) {
    const answered = work(this)
    this.begun = answered.then(() => {})
    this.ended = answered.then(
      ({ ended }) => ended,
      () => {},
    )
    this.begun.catch(() => {})
  }

  /** From now on `turn` answers it. */
  attachTurn(turn: Interruptible): void {
    this.#turn = turn
    if (this.#isStopped) turn.interrupt()
  }

  /** Ends its turn soon, or as soon as that begins. */
  stop(): void {
    this.#isStopped = true
    this.#turn?.interrupt()
  }
}

/** All of them, by owner and thread. */
export class PendingMessages {
  readonly #byThread = new Map<string, Set<PendingMessage>>()

  /** In how many threads there are some. */
  get size(): number {
    return this.#byThread.size
  }

  add(owner: OwnerScope, thread_id: string, saying: PendingMessage): void {
    const key = ownerScopeKey(owner, thread_id)
    const there = this.#byThread.get(key) ?? new Set()
    this.#byThread.set(key, there.add(saying))
    void saying.ended.then(() => {
      there.delete(saying)
      if (there.size === 0) this.#byThread.delete(key)
    })
  }

  /** Stops those of one thread. Gives how many there were. */
  stop(owner: OwnerScope, thread_id: string): number {
    const there = this.#byThread.get(ownerScopeKey(owner, thread_id)) ?? new Set()
    for (const saying of there) saying.stop()
    return there.size
  }

  /** Stops all, and waits until they have ended. */
  async end(): Promise<void> {
    const all = [...this.#byThread.values()].flatMap((there) => [...there])
    for (const saying of all) saying.stop()
    await Promise.all(all.map(({ ended }) => ended))
  }
}
