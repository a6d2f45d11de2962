// Workers that take one task after the other, threads or processes: who works when, which worker does it, and how long one without work
// is kept. What a task is, its worker knows.
import { NodeError } from '../engine/node-api/node-error.ts'
import { FairSemaphore, type OwnerKey } from './fair-semaphore.ts'
import { type IdleWorker, IdleWorkers } from './idle-workers.ts'

export interface PooledTask {
  /** The user that it is done for, and the run: users get their turns one after the other, and so do the runs of one user. */
  readonly owner: OwnerKey
  readonly run?: object
  /** How long it waits for its turn at most, in milliseconds; absent: for as long as it takes. */
  readonly wait_limit_ms?: number
  /** Ends it wherever it is. */
  readonly signal: AbortSignal
}

export interface PooledWorker<Task, Result> extends IdleWorker {
  run(task: Task): Promise<Result>
  /** Reads what such a task needs, before there is one. */
  preload(task: Task): void
}

export interface WorkerPoolLimits {
  /** Workers that work at the same time. One more works where one owner has all of them and others wait. */
  readonly workers: number
  /** How long a worker without work is kept, in milliseconds. */
  readonly idle_ms: number
}

/** Starts nothing before there is a task; ends everything when disposed of. */
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

  /** @throws NodeError `busy` where its turn did not come in time, `unavailable` at the end; the signal's reason; what the worker throws */
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
      // Where one owner has all places, another one does not wait for the start of a worker as well.
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
      // Who waits for its end is not to end before.
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

  /** @throws what the start of a worker throws; its place is free then */
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
    // What a worker takes is taken until it is gone.
    void worker.whenExited.then(() => this.#permits.release(owner))
  }
}

function createStoppingError(): NodeError {
  return new NodeError('The server is stopping.', 'unavailable')
}
