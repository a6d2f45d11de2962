// A pool of threads or processes: decides when each task runs and on which worker, and how long idle workers are kept. Only the worker
// knows what a task is.
import { NodeError } from '../engine/node-api/node-error.ts'
import { FairSemaphore, type OwnerKey } from './fair-semaphore.ts'
import { type IdleWorker, IdleWorkers } from './idle-workers.ts'

export interface PooledTask {
  /** The user and the run of the task: users get turns one after the other, and so do the runs of one user. */
  readonly owner: OwnerKey
  readonly run?: object
  /** The longest wait for a turn, in milliseconds; absent: no limit. */
  readonly wait_limit_ms?: number
  /** Ends the task in any state. */
  readonly signal: AbortSignal
}

export interface PooledWorker<Task, Result> extends IdleWorker {
  run(task: Task): Promise<Result>
  /** Loads what the task needs, before a task runs. */
  preload(task: Task): void
}

export interface WorkerPoolLimits {
  /** Workers that work at the same time. While one owner has all of them and others wait, there is one more. */
  readonly workers: number
  /** How long an idle worker is kept, in milliseconds. */
  readonly idle_ms: number
}

/** Starts no worker before the first task; ends all workers when disposed of. */
export class WorkerPool<Task extends PooledTask, Result> implements AsyncDisposable {
  readonly #permits: FairSemaphore
  readonly #idle: IdleWorkers<PooledWorker<Task, Result>>
  readonly #all = new Set<PooledWorker<Task, Result>>()
  #closed = false

  constructor(limits: WorkerPoolLimits, start: () => PooledWorker<Task, Result>) {
    const { workers, idle_ms } = limits
    this.#permits = new FairSemaphore(workers)
    this.#idle = new IdleWorkers({ kept: 0, idle_ms }, () => this.#register(start()))
  }

  /** @throws NodeError `busy` if its turn did not come in time, `unavailable` at shutdown; the signal's reason; errors of the worker */
  async run(task: Task): Promise<Result> {
    const { owner } = task
    if (this.#closed) throw createStoppingError()
    await this.#acquirePermit(task)
    if (this.#closed) {
      this.#permits.release(owner)
      throw createStoppingError()
    }
    const worker = this.#takeWorker(owner)
    try {
      // While one owner holds all permits, a second worker is started so that another owner need not wait for it.
      if (this.#permits.hasSpare) this.#idle.prepareSpare()?.preload(task)
      return await worker.run(task)
    } finally {
      this.#returnWorker(worker, owner)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    this.#permits.rejectAll(createStoppingError)
    this.#idle.clear()
    for (const worker of this.#all) {
      // The process must not end before its workers have ended.
      worker.setKeepAlive(true)
      worker.kill()
    }
    await Promise.all([...this.#all].map((worker) => worker.whenExited))
  }

  async #acquirePermit({ owner, run, signal, wait_limit_ms }: Task): Promise<void> {
    if (wait_limit_ms === undefined) return this.#permits.acquire(owner, signal, run)
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(new NodeError('All workers are busy.', 'busy')), wait_limit_ms)
    try {
      await this.#permits.acquire(owner, AbortSignal.any([signal, late.signal]), run)
    } finally {
      clearTimeout(timer)
    }
  }

  /** @throws errors of a worker's start, after its permit was released */
  #takeWorker(owner: OwnerKey): PooledWorker<Task, Result> {
    try {
      return this.#idle.take(this.#permits.hasSpare)
    } catch (error) {
      this.#permits.release(owner)
      throw error
    }
  }

  #register(worker: PooledWorker<Task, Result>): PooledWorker<Task, Result> {
    this.#all.add(worker)
    void worker.whenExited.then(() => this.#all.delete(worker))
    return worker
  }

  #returnWorker(worker: PooledWorker<Task, Result>, owner: OwnerKey): void {
    if (worker.isReusable && !this.#closed) {
      this.#idle.addIdle(worker)
      return this.#permits.release(owner)
    }
    worker.kill()
    // The permit is released only once the worker, and so its memory, is gone.
    void worker.whenExited.then(() => this.#permits.release(owner))
  }
}

function createStoppingError(): NodeError {
  return new NodeError('The server is stopping.', 'unavailable')
}
