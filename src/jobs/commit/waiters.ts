// Promises of callers that wait until a job's history is committed up to some event.
import type { JobFeed } from '../../events/job-feed.ts'

interface CommitWaiter {
  /** Null: waits for the terminal event. */
  sequence: number | null
  resolve(): void
  reject(error: unknown): void
}

export class CommitWaiters {
  readonly #feed: JobFeed
  #waiters: CommitWaiter[] = []
  #isReleased = false
  #failure: { error: unknown } | null = null

  constructor(feed: JobFeed) {
    this.#feed = feed
  }

  /** Resolves when `sequence` is committed; null stands for the terminal event. It rejects where the history cannot be written. */
  waitFor(sequence: number | null): Promise<void> {
    if (this.#isReleased || this.#isReached(sequence)) return Promise.resolve()
    if (this.#failure) return Promise.reject(this.#failure.error)
    return new Promise((resolve, reject) => this.#waiters.push({ sequence, resolve, reject }))
  }

  /** Called after each commit. */
  resolveReached(): void {
    if (this.#waiters.length === 0) return
    const ready = this.#waiters.filter(({ sequence }) => this.#isReached(sequence))
    this.#waiters = this.#waiters.filter(({ sequence }) => !this.#isReached(sequence))
    for (const waiter of ready) waiter.resolve()
  }

  /** Everything is committed, and no more will follow for now: resolves all present and future waiters. */
  resolveAll(): void {
    this.#isReleased = true
    for (const waiter of this.#waiters.splice(0)) waiter.resolve()
  }

  /** Nothing more will be committed: rejects all present and future waiters. */
  rejectAll(error: unknown): void {
    this.#failure = { error }
    for (const waiter of this.#waiters) waiter.reject(error)
    this.#waiters = []
  }

  #isReached(sequence: number | null): boolean {
    return sequence === null ? this.#feed.hasEnded : this.#feed.committed >= sequence
  }
}

/** Promises of callers that wait until all changes so far are committed, in their order. */
export class FlushWaiters {
  #waiters: { resolve(): void; reject(error: unknown): void }[] = []

  get count(): number {
    return this.#waiters.length
  }

  add(): Promise<void> {
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }))
  }

  /** Resolves the first `count` promises, all by default. */
  resolve(count = this.#waiters.length): void {
    for (const { resolve } of this.#waiters.splice(0, count)) resolve()
  }

  rejectAll(error: unknown): void {
    for (const { reject } of this.#waiters.splice(0)) reject(error)
  }
}
