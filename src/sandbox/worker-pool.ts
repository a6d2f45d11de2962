// Who has which worker. To run, a call needs a place besides (places.ts); a stream that waits for its consumer gives its place
// up and keeps its worker (holds.ts), or else streams that feed each other would wait for ever.
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
  /** Calls that run at the same time. */
  readonly workers: number
  /** Streams that keep a worker beside these. */
  readonly held: number
}

/** What a call asks for. */
export interface LeaseRequest {
  readonly owner: OwnerKey
  readonly run: object | undefined
  readonly memory_limit_mb: number
  readonly signal: AbortSignal
}

/** A worker that a call has. */
export interface WorkerLease {
  readonly worker: SandboxWorker
  readonly owner: OwnerKey
  readonly run: object | undefined
  readonly memory_limit_mb: number
  /** Whether it has no place, and so must not run. */
  isHeld: boolean
  /** What waits for a place for it. */
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
  /** The threads that are there. */
  readonly #workers = new Set<SandboxWorker>()
  readonly #limits: SandboxLimits
  #closed = false
  /** All workers share it. */
  #engine: Promise<WebAssembly.Module> | null = null
  /** From the time when the engine is there. */
  #idle: IdleWorkers<SandboxWorker> | null = null

  constructor(limits: SandboxLimits) {
    this.#limits = limits
    this.#permits = new FairSemaphore(limits.workers)
    this.#quota = new StreamQuota(limits.held, limits.workers)
  }

  /** Waits for a place. Throws the signal's reason, or NodeError `unavailable`. */
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

  /** Lets a stream keep its worker without running. False where there are too many of these. */
  holdStream(lease: WorkerLease): boolean {
    if (!this.#quota.reserve(lease.owner, lease.memory_limit_mb)) return false
    lease.isHeld = true
    this.#permits.release(lease.owner)
    return true
  }

  /** Calls `go` once a held stream has a place again. */
  resume(lease: WorkerLease, go: () => void): void {
    const enter = () => {
      this.#releaseHold(lease)
      go()
    }
    // Who closes the pool ends the calls, too.
    lease.resumeRequest = {
      owner: lease.owner,
      ...(lease.run && { run: lease.run }),
      hasBegun: true,
      grant: enter,
      reject() {},
    }
    this.#permits.request(lease.resumeRequest)
  }

  /** Whether another owner or another run waits for a place. */
  hasOtherWaiters(lease: WorkerLease): boolean {
    return this.#permits.hasOtherWaiters(lease.owner, lease.run)
  }

  /** Takes a worker back: to be used again, or to be thrown away. */
  returnLease(lease: WorkerLease, healthy: boolean): void {
    if (!this.#leases.delete(lease)) return
    const { worker: member, owner, isHeld: held } = lease
    if (lease.resumeRequest) this.#permits.cancel(lease.resumeRequest)
    // What a worker takes is taken until its thread is gone.
    const free = () => (held ? this.#releaseHold(lease) : this.#permits.release(owner))
    member.finishCall()
    if (!healthy || !member.isReusable || this.#closed) return void member.kill().then(free)
    this.#idle!.addIdle(member)
    free()
  }

  /** Ends idle workers and refuses who waits, now and later. */
  close(): void {
    this.#closed = true
    this.#permits.rejectAll(createSandboxClosedError)
    this.#idle?.clear()
  }

  /** Resolves when all threads are gone. Only once all calls have given theirs back. */
  async waitForExit(): Promise<void> {
    await Promise.all([...this.#workers].map((member) => member.whenExited))
  }

  #releaseHold(lease: WorkerLease): void {
    lease.isHeld = false
    lease.resumeRequest = null
    this.#quota.release(lease.owner, lease.memory_limit_mb)
  }

  /** The engine, compiled when it is first needed. After a failure the next call tries it again. */
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
    const member = this.#idle.take(this.#permits.hasSpare)
    try {
      if (this.#permits.hasSpare) this.#idle.prepareSpare()
      return member
    } catch (error) {
      this.#idle.addIdle(member)
      throw error
    }
  }

  #startWorker(engine: WebAssembly.Module): SandboxWorker {
    const member = new SandboxWorker(engine)
    this.#workers.add(member)
    void member.whenExited.then(() => this.#workers.delete(member))
    return member
  }
}

export function createSandboxClosedError(): NodeError {
  return new NodeError('The sandbox for code is closed.', 'unavailable')
}
