// Workers that take one task after the other, threads or processes: who works when, which worker does it, and how long one without work
// is kept. What a task is, its worker knows.
import { NodeError } from '../engine/node-error.ts'
import { type IdleWorker, IdleWorkers } from './idle.ts'
import { type Owner, Places } from './places.ts'

export interface PooledTask {
  /** The user that it is done for, and the run: users get their turns one after the other, and so do the runs of one user. */
  readonly owner: Owner
  readonly run?: object
  /** How long it waits for its turn at most, in milliseconds; absent: for as long as it takes. */
  readonly wait_limit_ms?: number
  /** Ends it wherever it is. */
  readonly signal: AbortSignal
}

export interface PooledWorker<Task, Result> extends IdleWorker {
  run(task: Task): Promise<Result>
  /** Reads what such a task needs, before there is one. */
  warm(task: Task): void
}

export interface WorkerPoolLimits {
  /** Workers that work at the same time. One more works where one owner has all of them and others wait. */
  readonly workers: number
  /** How long a worker without work is kept, in milliseconds. */
  readonly idle_ms: number
}

/** Starts nothing before there is a task; ends everything when disposed of. */
export class WorkerPool<Task extends PooledTask, Result> implements AsyncDisposable {
  readonly #places: Places
  readonly #idle: IdleWorkers<PooledWorker<Task, Result>>
  readonly #all = new Set<PooledWorker<Task, Result>>()
  #closed = false

  constructor(limits: WorkerPoolLimits, start: () => PooledWorker<Task, Result>) {
    const { workers, idle_ms } = limits
    this.#places = new Places(workers)
    this.#idle = new IdleWorkers({ kept: 0, idle_ms }, () => this.#entered(start()))
  }

  /** @throws NodeError `busy` where its turn did not come in time, `unavailable` at the end; the signal's reason; what the worker throws */
  async run(task: Task): Promise<Result> {
    const { owner } = task
    if (this.#closed) throw closed()
    await this.#turn(task)
    if (this.#closed) {
      this.#places.giveBack(owner)
      throw closed()
    }
    const worker = this.#takenFor(owner)
    try {
      // Where one owner has all places, another one does not wait for the start of a worker as well.
      if (this.#places.hasSpare) this.#idle.prepare()?.warm(task)
      return await worker.run(task)
    } finally {
      this.#give(worker, owner)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    this.#places.refuseAll(closed)
    this.#idle.clear()
    for (const worker of this.#all) {
      // Who waits for its end is not to end before.
      worker.hold(true)
      worker.kill()
    }
    await Promise.all([...this.#all].map((worker) => worker.gone))
  }

  async #turn({ owner, run, signal, wait_limit_ms }: Task): Promise<void> {
    if (wait_limit_ms === undefined) return this.#places.turn(owner, signal, run)
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(new NodeError('All workers are busy.', 'busy')), wait_limit_ms)
    try {
      await this.#places.turn(owner, AbortSignal.any([signal, late.signal]), run)
    } finally {
      clearTimeout(timer)
    }
  }

  /** @throws what the start of a worker throws; its place is free then */
  #takenFor(owner: Owner): PooledWorker<Task, Result> {
    try {
      return this.#idle.take(this.#places.hasSpare)
    } catch (error) {
      this.#places.giveBack(owner)
      throw error
    }
  }

  #entered(worker: PooledWorker<Task, Result>): PooledWorker<Task, Result> {
    this.#all.add(worker)
    void worker.gone.then(() => this.#all.delete(worker))
    return worker
  }

  #give(worker: PooledWorker<Task, Result>, owner: Owner): void {
    if (worker.fit && !this.#closed) {
      this.#idle.rest(worker)
      return this.#places.giveBack(owner)
    }
    worker.kill()
    // What a worker takes is taken until it is gone.
    void worker.gone.then(() => this.#places.giveBack(owner))
  }
}

function closed(): NodeError {
  return new NodeError('The server is stopping.', 'unavailable')
}
