// Keeps idle workers for the next task. While one owner holds all permits, one worker is reserved for another owner, who then need not wait
// for a worker to start.

export interface IdleWorker {
  /** Whether the worker may get another task. */
  readonly isReusable: boolean
  /** Resolves when the worker's thread or process has ended. */
  readonly whenExited: Promise<unknown>
  /** Whether the worker keeps this process alive. */
  setKeepAlive(isKeptAlive: boolean): void
  /** Ends the worker, whatever it is doing. */
  kill(): unknown
}

export interface IdleLimits {
  /** The number of workers that are kept without a time limit. */
  readonly kept: number
  /** How long a further worker is kept, in milliseconds. */
  readonly idle_ms: number
}

export class IdleWorkers<Worker extends IdleWorker> {
  readonly #limits: IdleLimits
  readonly #start: () => Worker
  /** Idle workers; the most recently used is last. */
  readonly #idle = new Map<Worker, NodeJS.Timeout | null>()

  constructor(limits: IdleLimits, start: () => Worker) {
    this.#limits = limits
    this.#start = start
  }

  /** A worker for a task, started if none is idle. With `keepsSpare` the last idle worker is reserved for others. */
  take(keepsSpare: boolean): Worker {
    const least = keepsSpare ? 1 : 0
    for (const worker of [...this.#idle.keys()].reverse()) {
      if (!worker.isReusable) this.#end(worker)
      else if (this.#idle.size > least) {
        this.#remove(worker)
        worker.setKeepAlive(true)
        return worker
      }
    }
    return this.#startWorker()
  }

  /** Starts a worker and returns it, if none is idle. */
  prepareSpare(): Worker | null {
    if (this.#idle.size > 0) return null
    const worker = this.#startWorker()
    this.addIdle(worker)
    return worker
  }

  /** Keeps a worker that has no work. */
  addIdle(worker: Worker): void {
    worker.setKeepAlive(false)
    const { kept, idle_ms } = this.#limits
    const until = this.#idle.size < kept ? null : setTimeout(() => this.#end(worker), idle_ms)
    until?.unref()
    this.#idle.set(worker, until)
  }

  /** Ends all idle workers. */
  clear(): void {
    for (const worker of [...this.#idle.keys()]) this.#end(worker)
  }

  #startWorker(): Worker {
    const worker = this.#start()
    void worker.whenExited.then(() => this.#remove(worker))
    return worker
  }

  #end(worker: Worker): void {
    this.#remove(worker)
    worker.kill()
  }

  #remove(worker: Worker): void {
    clearTimeout(this.#idle.get(worker) ?? undefined)
    this.#idle.delete(worker)
  }
}
