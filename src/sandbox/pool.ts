// Who has which worker. To run, a call needs a place besides (places.ts); a stream that waits for its consumer gives its place
// up and keeps its worker (holds.ts), or else streams that feed each other would wait for ever.
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { NodeError } from '../engine/node-error.ts'
import { Holds } from './holds.ts'
import { Member } from './member.ts'
import { type Owner, Places, type Waiting } from './places.ts'
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
  readonly memory_limit_mb: number
  readonly signal: AbortSignal
}

/** A worker that a call has. */
export interface Lease {
  readonly member: Member
  readonly owner: Owner
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
  readonly #limits: PoolLimits
  readonly #places: Places
  readonly #holds: Holds
  readonly #idle: Member[] = []
  readonly #leases = new Set<Lease>()
  /** Threads that are on their way out. */
  readonly #leaving = new Set<Promise<unknown>>()
  #closed = false
  /** Compiled once, when it is first needed; all workers share it. */
  #engine: Promise<WebAssembly.Module> | null = null

  constructor(limits: PoolLimits) {
    this.#limits = limits
    this.#places = new Places(limits.workers)
    this.#holds = new Holds(limits.held, limits.workers)
  }

  /** Waits for a place. Throws the signal's reason, or NodeError `unavailable`. */
  async take({ owner, memory_limit_mb, signal }: Order): Promise<Lease> {
    signal.throwIfAborted()
    if (this.#closed) throw closed()
    await this.#places.turn(owner, signal)
    try {
      this.#engine ??= compileEngine()
      const engine = await this.#engine
      if (this.#closed) throw closed()
      signal.throwIfAborted()
      const lease = { member: this.#member(engine), owner, memory_limit_mb, held: false, waiting: null }
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
    lease.waiting = { owner: lease.owner, begun: true, enter, refuse() {} }
    this.#places.ask(lease.waiting)
  }

  /** Whether somebody else waits for a place. */
  isWanted(lease: Lease): boolean {
    return this.#places.isWanted(lease.owner)
  }

  /** Takes a worker back: to be used again, or to be thrown away. */
  give(lease: Lease, healthy: boolean): void {
    if (!this.#leases.delete(lease)) return
    const { member, owner, held } = lease
    if (lease.waiting) this.#places.forget(lease.waiting)
    const kept = healthy && member.alive && !this.#closed && this.#idle.length < this.#limits.workers
    if (kept) {
      member.rest()
      this.#idle.push(member)
    }
    // What a worker takes is taken until its thread is gone.
    const free = () => (held ? this.#unhold(lease) : this.#places.giveBack(owner))
    if (kept) free()
    else void this.#dismiss(member).then(free)
  }

  /** Ends idle workers and refuses who waits, now and later. */
  close(): void {
    this.#closed = true
    this.#places.refuseAll(closed)
    for (const member of this.#idle.splice(0)) void this.#dismiss(member)
  }

  /** Resolves when the threads of all workers that were dismissed are gone. */
  async gone(): Promise<void> {
    await Promise.all(this.#leaving)
  }

  #unhold(lease: Lease): void {
    lease.held = false
    lease.waiting = null
    this.#holds.remove(lease.owner, lease.memory_limit_mb)
  }

  #member(engine: WebAssembly.Module): Member {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) if (idle.alive) return idle
    return new Member(engine)
  }

  #dismiss(member: Member): Promise<unknown> {
    const gone = member.kill().finally(() => this.#leaving.delete(gone))
    this.#leaving.add(gone)
    return gone
  }
}

export function closed(): NodeError {
  return new NodeError('The sandbox for code is closed.', 'unavailable')
}
