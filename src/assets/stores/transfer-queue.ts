// TransferQueue runs work on keys in the background, several keys at a time, and repeats it until it succeeds. During an outage all keys
// wait, with growing pauses.

export interface TransferQueueParts {
  /** Does the work of a key. If it throws, it is tried again. */
  work(key: string, signal: AbortSignal): Promise<void>
  /** Whether an error affects every key. */
  isOutage(error: unknown): boolean
  /** Called at the first failure of an outage (`key` is null), or of a key. */
  onFailure(error: unknown, key: string | null): void
  /** Called at the end of an outage, with its duration in milliseconds. */
  onRecovery(took: number): void
  /** Milliseconds since the epoch. */
  now(): number
  /** The first pause, roughly, in milliseconds. */
  readonly pause_ms: number
}

const PARALLEL = 4
const LONGEST_PAUSE_MS = 60_000

export class TransferQueue {
  readonly #parts: TransferQueueParts
  /** The number of failures of each waiting key, in the order in which the keys are due. */
  readonly #waiting = new Map<string, number>()
  readonly #running = new Map<string, Promise<void>>()
  readonly #delayed = new Map<string, NodeJS.Timeout>()
  readonly #locks = new Map<string, Promise<unknown>>()
  readonly #stop = new AbortController()
  #closed = false
  #pause: NodeJS.Timeout | null = null
  #outage: { since: number; failures: number } | null = null

  constructor(parts: TransferQueueParts) {
    this.#parts = parts
  }

  /** Number of keys whose work is not done. */
  get pending(): number {
    return new Set([...this.#waiting.keys(), ...this.#running.keys(), ...this.#delayed.keys()]).size
  }

  /** Schedules the work of a key, once more if it is under way. */
  add(key: string): void {
    clearTimeout(this.#delayed.get(key))
    this.#delayed.delete(key)
    if (!this.#waiting.has(key)) this.#waiting.set(key, 0)
    this.#start()
  }

  /** Runs `act` while no other work on the key runs or begins. */
  async runExclusively<T>(key: string, act: () => Promise<T>): Promise<T> {
    const before = this.#locks.get(key) ?? Promise.resolve()
    const mine = before.then(act, act)
    const ended = mine.catch(() => {})
    this.#locks.set(key, ended)
    try {
      return await mine
    } finally {
      if (this.#locks.get(key) === ended) this.#locks.delete(key)
    }
  }

  /** Starts no more work. Running work gets `patience_ms` milliseconds, and is then aborted. */
  async close(patience_ms: number): Promise<void> {
    this.#closed = true
    if (this.#pause !== null) clearTimeout(this.#pause)
    for (const timer of this.#delayed.values()) clearTimeout(timer)
    const timer = setTimeout(() => this.#stop.abort(), patience_ms)
    await Promise.all(this.#running.values())
    clearTimeout(timer)
    this.#stop.abort()
  }

  #start(): void {
    for (const [key, failures] of this.#waiting) {
      // During an outage a single key tests whether it is over.
      const most = this.#outage === null ? PARALLEL : 1
      if (this.#closed || this.#pause !== null || this.#running.size >= most) return
      if (this.#running.has(key)) continue
      this.#waiting.delete(key)
      this.#running.set(key, this.#run(key, failures))
    }
  }

  async #run(key: string, failures: number): Promise<void> {
    const { signal } = this.#stop
    try {
      await this.runExclusively(key, () => this.#parts.work(key, signal))
      this.#succeeded()
    } catch (error) {
      if (!this.#closed) this.#failed(error, key, failures + 1)
    } finally {
      this.#running.delete(key)
      this.#start()
    }
  }

  #succeeded(): void {
    if (this.#outage === null) return
    this.#parts.onRecovery(this.#parts.now() - this.#outage.since)
    this.#outage = null
  }

  #failed(error: unknown, key: string, failures: number): void {
    if (this.#parts.isOutage(error)) {
      this.#pauseAll(error)
      // The key goes to the end of the queue, because it may be the cause itself.
      if (!this.#waiting.has(key)) this.#waiting.set(key, failures)
      return
    }
    if (failures === 1) this.#parts.onFailure(error, key)
    if (this.#waiting.has(key)) return
    const again = () => {
      this.#delayed.delete(key)
      this.#waiting.set(key, failures)
      this.#start()
    }
    this.#delayed.set(key, setTimeout(again, this.#pauseAfter(failures)).unref())
  }

  #pauseAll(error: unknown): void {
    // Other keys that were under way fail with the same outage.
    if (this.#pause !== null) return
    if (this.#outage === null) this.#parts.onFailure(error, null)
    this.#outage ??= { since: this.#parts.now(), failures: 0 }
    this.#outage.failures += 1
    const again = () => {
      this.#pause = null
      this.#start()
    }
    this.#pause = setTimeout(again, this.#pauseAfter(this.#outage.failures)).unref()
  }

  #pauseAfter(failures: number): number {
    const longest = Math.min(this.#parts.pause_ms * 2 ** Math.min(failures - 1, 30), LONGEST_PAUSE_MS)
    return longest * (0.5 + Math.random() / 2)
  }
}
