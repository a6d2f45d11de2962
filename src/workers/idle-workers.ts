// Workers without work, kept for the next task. Where one owner has all places, one of them is kept back for another owner, who
// then does not wait for the start of a worker as well.

export interface IdleWorker {
  /** Whether it may be given another task. */
  readonly isReusable: boolean
  /** Resolves when its thread or process is gone. */
  readonly whenExited: Promise<unknown>
  /** Whether this process stays alive for it. */
  setKeepAlive(isKeptAlive: boolean): void
  /** Ends it, wherever it is. */
  kill(): unknown
}

export interface IdleLimits {
  /** How many are kept for as long as they are fit. */
  readonly kept: number
  /** How long a further one is kept, in milliseconds. */
  readonly idle_ms: number
}

export class IdleWorkers<Worker extends IdleWorker> {
  readonly #limits: IdleLimits
  readonly #start: () => Worker
  /** The one that was used last comes last. */
  readonly #idle = new Map<Worker, NodeJS.Timeout | null>()

  constructor(limits: IdleLimits, start: () => Worker) {
    this.#limits = limits
    this.#start = start
  }

  /** A worker for a task, started where there is none. `spare`: the last one that is idle is kept back for others. */
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

  /** Starts one where there is none. Gives it. */
  prepareSpare(): Worker | null {
    if (this.#idle.size > 0) return null
    const worker = this.#startWorker()
    this.addIdle(worker)
    return worker
  }

  /** It has no work any more. */
  addIdle(worker: Worker): void {
    worker.setKeepAlive(false)
    const { kept, idle_ms } = this.#limits
    const until = this.#idle.size < kept ? null : setTimeout(() => this.#end(worker), idle_ms)
    until?.unref()
    this.#idle.set(worker, until)
  }

  /** Ends all that are idle. */
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
