// Assigns workers to calls. A running call also needs a permit (../workers/fair-semaphore.ts). A stream that waits for its consumer
// releases its permit and keeps its worker (stream-quota.ts); otherwise streams that feed each other could deadlock.
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { NodeError } from '../engine/node-api/node-error.ts'
import { FairSemaphore, type OwnerKey, type PermitRequest } from '../workers/fair-semaphore.ts'
import { IdleWorkers } from '../workers/idle-workers.ts'
import { WORKER_IDLE_MS } from './limits.ts'
import { webAssembly } from './quickjs/web-assembly.ts'
import { StreamQuota } from './stream-quota.ts'
import { SandboxWorker } from './worker-handle.ts'

export interface SandboxLimits {
  /** The number of calls that run at the same time. */
  readonly workers: number
  /** The number of additional streams that keep a worker. */
  readonly held: number
}

/** The request of a call for a worker. */
export interface LeaseRequest {
  readonly owner: OwnerKey
  readonly run: object | undefined
  readonly memory_limit_mb: number
  readonly signal: AbortSignal
}

/** A worker that is assigned to a call. */
export interface WorkerLease {
  readonly worker: SandboxWorker
  readonly owner: OwnerKey
  readonly run: object | undefined
  readonly memory_limit_mb: number
  /** Whether the call holds no permit, and so must not run. */
  isHeld: boolean
  /** The pending request for a permit to resume. */
  resumeRequest: PermitRequest | null
}

const ENGINE_URL = import.meta.resolve('@jitl/quickjs-wasmfile-release-sync/wasm')

async function compileEngine(): Promise<WebAssembly.Module> {
  return webAssembly.compile(await readFile(fileURLToPath(ENGINE_URL)))
}

export class SandboxWorkerPool {
  readonly #permits: FairSemaphore
  readonly #quota: StreamQuota
  readonly #leases = new Set<WorkerLease>()
  /** All live workers. */
  readonly #workers = new Set<SandboxWorker>()
  readonly #limits: SandboxLimits
  #closed = false
  /** Shared by all workers. */
  #engine: Promise<WebAssembly.Module> | null = null
  /** Created once the engine is compiled. */
  #idle: IdleWorkers<SandboxWorker> | null = null

  constructor(limits: SandboxLimits) {
    this.#limits = limits
    this.#permits = new FairSemaphore(limits.workers)
    this.#quota = new StreamQuota(limits.held, limits.workers)
  }

  /** Waits for a permit. Throws the signal's reason, or NodeError `unavailable`. */
  async lease({ owner, run, memory_limit_mb, signal }: LeaseRequest): Promise<WorkerLease> {
    signal.throwIfAborted()
    if (this.#closed) throw createSandboxClosedError()
    await this.#permits.acquire(owner, signal, run)
    try {
      const engine = await this.#loadEngine()
      if (this.#closed) throw createSandboxClosedError()
      signal.throwIfAborted()
      const lease = {
        worker: this.#takeWorker(engine),
        owner,
        run,
        memory_limit_mb,
        isHeld: false,
        resumeRequest: null,
      }
      this.#leases.add(lease)
      return lease
    } catch (error) {
      this.#permits.release(owner)
      throw error
    }
  }

  /** Lets a stream keep its worker without running. False if there are too many such streams. */
  holdStream(lease: WorkerLease): boolean {
    if (!this.#quota.reserve(lease.owner, lease.memory_limit_mb)) return false
    lease.isHeld = true
    this.#permits.release(lease.owner)
    return true
  }

  /** Calls `go` once a held stream has a permit again. */
  resume(lease: WorkerLease, go: () => void): void {
    const enter = () => {
      this.#releaseHold(lease)
      go()
    }
    // Closing the pool also ends the calls, so no rejection is needed.
    lease.resumeRequest = {
      owner: lease.owner,
      ...(lease.run && { run: lease.run }),
      hasBegun: true,
      grant: enter,
      reject() {},
    }
    this.#permits.request(lease.resumeRequest)
  }

  /** Whether another owner or another run waits for a permit. */
  hasOtherWaiters(lease: WorkerLease): boolean {
    return this.#permits.hasOtherWaiters(lease.owner, lease.run)
  }

  /** Takes a worker back and reuses or kills it. */
  returnLease(lease: WorkerLease, healthy: boolean): void {
    if (!this.#leases.delete(lease)) return
    const { worker, owner, isHeld } = lease
    if (lease.resumeRequest) this.#permits.cancel(lease.resumeRequest)
    // The permit is released only once the thread, and so its memory, is gone.
    const free = () => (isHeld ? this.#releaseHold(lease) : this.#permits.release(owner))
    worker.finishCall()
    if (!healthy || !worker.isReusable || this.#closed) return void worker.kill().then(free)
    this.#idle!.addIdle(worker)
    free()
  }

  /** Ends idle workers, and rejects current and future requests. */
  close(): void {
    this.#closed = true
    this.#permits.rejectAll(createSandboxClosedError)
    this.#idle?.clear()
  }

  /** Resolves when all threads have ended. Call it only after all calls have returned their workers. */
  async waitForExit(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.whenExited))
  }

  #releaseHold(lease: WorkerLease): void {
    lease.isHeld = false
    lease.resumeRequest = null
    this.#quota.release(lease.owner, lease.memory_limit_mb)
  }

  /** The engine, compiled on first use. After a failure, the next call tries again. */
  #loadEngine(): Promise<WebAssembly.Module> {
    this.#engine ??= compileEngine().catch((error: unknown) => {
      this.#engine = null
      throw error
    })
    return this.#engine
  }

  #takeWorker(engine: WebAssembly.Module): SandboxWorker {
    this.#idle ??= new IdleWorkers({ kept: this.#limits.workers, idle_ms: WORKER_IDLE_MS }, () =>
      this.#startWorker(engine),
    )
    const worker = this.#idle.take(this.#permits.hasSpare)
    try {
      if (this.#permits.hasSpare) this.#idle.prepareSpare()
      return worker
    } catch (error) {
      this.#idle.addIdle(worker)
      throw error
    }
  }

  #startWorker(engine: WebAssembly.Module): SandboxWorker {
    const worker = new SandboxWorker(engine)
    this.#workers.add(worker)
    void worker.whenExited.then(() => this.#workers.delete(worker))
    return worker
  }
}

export function createSandboxClosedError(): NodeError {
  return new NodeError('The sandbox for code is closed.', 'unavailable')
}
