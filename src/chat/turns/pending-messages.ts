// User messages from their submission until their turn ends: a caller may stop a message at any time between.
import { type OwnerScope, ownerScopeKey } from '../../db/owner-scope.ts'

interface Interruptible {
  interrupt(): void
}

export class PendingMessage {
  /** Settles when the message is stored and its turn has started. @throws the reason why the message is refused */
  readonly begun: Promise<void>
  /** Resolves when the turn has ended, or the message was refused. */
  readonly ended: Promise<void>
  #turn: Interruptible | null = null
  #isStopped = false

  /** `work` stores the message and starts its turn. Its `ended` settles when the turn has ended. */
  constructor(work: (pending: PendingMessage) => Promise<{ readonly ended: Promise<void> }>) {
    const answered = work(this)
    this.begun = answered.then(() => {})
    this.ended = answered.then(
      ({ ended }) => ended,
      () => {},
    )
    this.begun.catch(() => {})
  }

  /** Sets the turn that answers the message. */
  attachTurn(turn: Interruptible): void {
    this.#turn = turn
    if (this.#isStopped) turn.interrupt()
  }

  /** Ends the turn soon, or as soon as it starts. */
  stop(): void {
    this.#isStopped = true
    this.#turn?.interrupt()
  }
}

/** All pending messages, by owner and thread. */
export class PendingMessages {
  readonly #byThread = new Map<string, Set<PendingMessage>>()

  /** The number of threads with pending messages. */
  get size(): number {
    return this.#byThread.size
  }

  add(owner: OwnerScope, thread_id: string, pending: PendingMessage): void {
    const key = ownerScopeKey(owner, thread_id)
    const messages = this.#byThread.get(key) ?? new Set()
    this.#byThread.set(key, messages.add(pending))
    void pending.ended.then(() => {
      messages.delete(pending)
      if (messages.size === 0) this.#byThread.delete(key)
    })
  }

  /** Stops the messages of one thread and returns their number. */
  stop(owner: OwnerScope, thread_id: string): number {
    const messages = this.#byThread.get(ownerScopeKey(owner, thread_id)) ?? new Set()
    for (const pending of messages) pending.stop()
    return messages.size
  }

  /** Stops all messages and waits until they have ended. */
  async end(): Promise<void> {
    const all = [...this.#byThread.values()].flatMap((messages) => [...messages])
    for (const pending of all) pending.stop()
    await Promise.all(all.map(({ ended }) => ended))
  }
}
