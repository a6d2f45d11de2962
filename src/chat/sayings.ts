// Messages that are to be answered, each from when it is said until its turn has ended: whoever may stop one may do so at any time between.
import { type Scope, scopedKey } from '../db/scope.ts'

interface Stoppable {
  interrupt(): void
}

export class Saying {
  /** Settles when the message is stored and its turn has begun. @throws what refuses it */
  readonly begun: Promise<void>
  /** Resolves when the turn has ended, or the message was refused. */
  readonly ended: Promise<void>
  #turn: Stoppable | null = null
  #stopped = false

  /** `work` has the message stored, and its turn begun; what it gives settles when that has ended. */
  constructor(work: (saying: Saying) => Promise<{ readonly ended: Promise<void> }>) {
    const answered = work(this)
    this.begun = answered.then(() => {})
    this.ended = answered.then(
      ({ ended }) => ended,
      () => {},
    )
    this.begun.catch(() => {})
  }

  /** From now on `turn` answers it. */
  answeredBy(turn: Stoppable): void {
    this.#turn = turn
    if (this.#stopped) turn.interrupt()
  }

  /** Ends its turn soon, or as soon as that begins. */
  stop(): void {
    this.#stopped = true
    this.#turn?.interrupt()
  }
}

/** All of them, by owner and thread. */
export class Sayings {
  readonly #byThread = new Map<string, Set<Saying>>()

  /** In how many threads there are some. */
  get size(): number {
    return this.#byThread.size
  }

  add(owner: Scope, thread_id: string, saying: Saying): void {
    const key = scopedKey(owner, thread_id)
    const there = this.#byThread.get(key) ?? new Set()
    this.#byThread.set(key, there.add(saying))
    void saying.ended.then(() => {
      there.delete(saying)
      if (there.size === 0) this.#byThread.delete(key)
    })
  }

  /** Stops those of one thread. Gives how many there were. */
  stop(owner: Scope, thread_id: string): number {
    const there = this.#byThread.get(scopedKey(owner, thread_id)) ?? new Set()
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
