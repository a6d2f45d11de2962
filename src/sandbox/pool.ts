// Who has which worker. To run, a call needs a place besides (places.ts); a stream that waits for its consumer gives its place
// up and keeps its worker (holds.ts), or else streams that feed each other would wait for ever.
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { NodeError } from '../engine/node-error.ts'
import { IdleWorkers } from '../workers/idle.ts'
import { type Owner, Places, type Waiting } from '../workers/places.ts'
import { Holds } from './holds.ts'
import { IDLE_MS } from './limits.ts'
import { Member } from './member.ts'
import { webAssembly } from './web-assembly.ts'

export interface PoolLimits {
  /** Calls that run at the same time. */
  readonly workers: number
  /** Streams that keep a worker beside these. */
  readonly held: number
}

/** What a call asks for. */
export interface Order {
  readonly owner: Owner
  readonly run: object | undefined
  readonly memory_limit_mb: number
  readonly signal: AbortSignal
}

/** A worker that a call has. */
export interface Lease {
  readonly member: Member
  readonly owner: Owner
  readonly run: object | undefined
  readonly memory_limit_mb: number
  /** Whether it has no place, and so must not run. */
  held: boolean
  /** What waits for a place for it. */
  waiting: Waiting | null
}

const ENGINE = import.meta.resolve('@jitl/quickjs-wasmfile-release-sync/wasm')

async function compileEngine(): Promise<WebAssembly.Module> {
  return webAssembly.compile(await readFile(fileURLToPath(ENGINE)))
}

export class Pool {
  readonly #places: Places
  readonly #holds: Holds
  readonly #leases = new Set<Lease>()
  /** The threads that are there. */
  readonly #all = new Set<Member>()
  readonly #limits: PoolLimits
  #closed = false
  /** All workers share it. */
  #engine: Promise<WebAssembly.Module> | null = null
  /** From the time when the engine is there. */
  #idle: IdleWorkers<Member> | null = null

  constructor(limits: PoolLimits) {
    this.#limits = limits
    this.#places = new Places(limits.workers)
    this.#holds = new Holds(limits.held, limits.workers)
  }

  /** Waits for a place. Throws the signal's reason, or NodeError `unavailable`. */
  async take({ owner, run, memory_limit_mb, signal }: Order): Promise<Lease> {
    signal.throwIfAborted()
    if (this.#closed) throw closed()
    await this.#places.turn(owner, signal, run)
    try {
      const engine = await this.#compiled()
      if (this.#closed) throw closed()
      signal.throwIfAborted()
      const lease = { member: this.#member(engine), owner, run, memory_limit_mb, held: false, waiting: null }
      this.#leases.add(lease)
      return lease
    } catch (error) {
      this.#places.giveBack(owner)
      throw error
    }
  }

  /** Lets a stream keep its worker without running. False where there are too many of these. */
  hold(lease: Lease): boolean {
    if (!this.#holds.add(lease.owner, lease.memory_limit_mb)) return false
    lease.held = true
    this.#places.giveBack(lease.owner)
    return true
  }

  /** Calls `go` once a held stream has a place again. */
  resume(lease: Lease, go: () => void): void {
    const enter = () => {
      this.#unhold(lease)
      go()
    }
    // Who closes the pool ends the calls, too.
    lease.waiting = { owner: lease.owner, ...(lease.run && { run: lease.run }), begun: true, enter, refuse() {} }
    this.#places.ask(lease.waiting)
  }

  /** Whether another owner or another run waits for a place. */
  isWanted(lease: Lease): boolean {
    return this.#places.isWanted(lease.owner, lease.run)
  }

  /** Takes a worker back: to be used again, or to be thrown away. */
  give(lease: Lease, healthy: boolean): void {
    if (!this.#leases.delete(lease)) return
    const { member, owner, held } = lease
    if (lease.waiting) this.#places.forget(lease.waiting)
    // What a worker takes is taken until its thread is gone.
    const free = () => (held ? this.#unhold(lease) : this.#places.giveBack(owner))
    member.rest()
    if (!healthy || !member.fit || this.#closed) return void member.kill().then(free)
    this.#idle!.rest(member)
    free()
  }

  /** Ends idle workers and refuses who waits, now and later. */
  close(): void {
    this.#closed = true
    this.#places.refuseAll(closed)
    this.#idle?.clear()
  }

  /** Resolves when all threads are gone. Only once all calls have given theirs back. */
  async gone(): Promise<void> {
    await Promise.all([...this.#all].map((member) => member.gone))
  }

  #unhold(lease: Lease): void {
    lease.held = false
    lease.waiting = null
    this.#holds.remove(lease.owner, lease.memory_limit_mb)
  }

  /** The engine, compiled when it is first needed. After a failure the next call tries it again. */
  #compiled(): Promise<WebAssembly.Module> {
    this.#engine ??= compileEngine().catch((error: unknown) => {
      this.#engine = null
      throw error
    })
    return this.#engine
  }

  #member(engine: WebAssembly.Module): Member {
    this.#idle ??= new IdleWorkers({ kept: this.#limits.workers, idle_ms: IDLE_MS }, () => this.#started(engine))
    const member = this.#idle.take(this.#places.hasSpare)
    try {
      if (this.#places.hasSpare) this.#idle.prepare()
      return member
    } catch (error) {
      this.#idle.rest(member)
      throw error
    }
  }

  #started(engine: WebAssembly.Module): Member {
    const member = new Member(engine)
    this.#all.add(member)
    void member.gone.then(() => this.#all.delete(member))
    return member
  }
}

export function closed(): NodeError {
  return new NodeError('The sandbox for code is closed.', 'unavailable')
}
