// Who waits until a job's history is committed up to some point.
import type { Feed } from '../events/feed.ts'

interface Waiter {
  /** Null waits for the terminal event. */
  sequence: number | null
  resolve(): void
  reject(error: unknown): void
}

export class Waiters {
  readonly #feed: Feed
  #waiting: Waiter[] = []
  #released = false
  #lost: { error: unknown } | null = null

  constructor(feed: Feed) {
    this.#feed = feed
  }

  /** Resolves when `sequence` is committed, null: when the terminal event is. Rejects when the history is lost. */
  until(sequence: number | null): Promise<void> {
    if (this.#released || this.#reached(sequence)) return Promise.resolve()
    if (this.#lost) return Promise.reject(this.#lost.error)
    return new Promise((resolve, reject) => this.#waiting.push({ sequence, resolve, reject }))
  }

  /** Something has been committed. */
  wake(): void {
    if (this.#waiting.length === 0) return
    const ready = this.#waiting.filter(({ sequence }) => this.#reached(sequence))
    this.#waiting = this.#waiting.filter(({ sequence }) => !this.#reached(sequence))
    for (const waiter of ready) waiter.resolve()
  }

  /** All that there is is committed, and nothing more will be for now: nobody need wait any longer, nor wait from now on. */
  release(): void {
    this.#released = true
    for (const waiter of this.#waiting.splice(0)) waiter.resolve()
  }

  /** Nothing more will be committed. */
  lose(error: unknown): void {
    this.#lost = { error }
    for (const waiter of this.#waiting) waiter.reject(error)
    this.#waiting = []
  }

  #reached(sequence: number | null): boolean {
    return sequence === null ? this.#feed.ended : this.#feed.committed >= sequence
  }
}
