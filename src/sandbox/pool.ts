// Who gets a worker, and when. Calls wait in one line for their place; a stream that waits for its consumer gives its place
// up and keeps its worker, or else streams that feed each other would wait for ever.
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { NodeError } from '../engine/node-error.ts'
import { Member } from './member.ts'
import { webAssembly } from './web-assembly.ts'

export interface PoolLimits {
  /** Calls that run at the same time. */
  readonly workers: number
  /** Streams that keep a worker beside these. */
  readonly held: number
}

/** A worker that a call has, and whether the call still counts as running. */
export interface Lease {
  readonly member: Member
  held: boolean
}

interface Waiting {
  readonly enter: () => void
  readonly refuse: (error: NodeError) => void
}

const ENGINE = import.meta.resolve('@jitl/quickjs-wasmfile-release-sync/wasm')

async function compileEngine(): Promise<WebAssembly.Module> {
  return webAssembly.compile(await readFile(fileURLToPath(ENGINE)))
}

export class Pool {
  readonly #limits: PoolLimits
  readonly #line = new Set<Waiting>()
  readonly #idle: Member[] = []
  readonly #leases = new Set<Lease>()
  /** Threads that are on their way out. */
  readonly #leaving = new Set<Promise<unknown>>()
  #running = 0
  #held = 0
  #closed = false
  /** Compiled once, when it is first needed; all workers share it. */
  #engine: Promise<WebAssembly.Module> | null = null

  constructor(limits: PoolLimits) {
    this.#limits = limits
  }

  /** Waits for a place. Throws the signal's reason, or NodeError `unavailable`. */
  async take(signal: AbortSignal): Promise<Lease> {
    signal.throwIfAborted()
    if (this.#closed) throw closed()
    if (this.#running < this.#limits.workers) this.#running++
    else await this.#wait(signal)
    try {
      this.#engine ??= compileEngine()
      const engine = await this.#engine
      if (this.#closed) throw closed()
      signal.throwIfAborted()
      const lease = { member: this.#member(engine), held: false }
      this.#leases.add(lease)
      return lease
    } catch (error) {
      this.#leave()
      throw error
    }
  }

  /** Lets a stream keep its worker without counting as running. False where there are too many of these. */
  hold(lease: Lease): boolean {
    if (lease.held) return true
    if (this.#held >= this.#limits.held) return false
    lease.held = true
    this.#held++
    this.#leave()
    return true
  }

  /** Takes a worker back: to be used again, or to be thrown away. */
  give(lease: Lease, healthy: boolean): void {
    if (!this.#leases.delete(lease)) return
    const { member } = lease
    if (healthy && member.alive && !this.#closed && this.#idle.length < this.#limits.workers) {
      member.rest()
      this.#idle.push(member)
    } else this.#dismiss(member)
    if (lease.held) this.#held--
    else this.#leave()
  }

  /** Ends idle workers and refuses who waits, now and later. */
  close(): void {
    this.#closed = true
    for (const waiting of this.#line) waiting.refuse(closed())
    for (const member of this.#idle.splice(0)) this.#dismiss(member)
  }

  /** Resolves when the threads of all workers that were dismissed are gone. */
  async gone(): Promise<void> {
    await Promise.all(this.#leaving)
  }

  #member(engine: WebAssembly.Module): Member {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) if (idle.alive) return idle
    return new Member(engine)
  }

  #dismiss(member: Member): void {
    const gone = member.kill().finally(() => this.#leaving.delete(gone))
    this.#leaving.add(gone)
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        signal.removeEventListener('abort', abort)
        this.#line.delete(waiting)
      }
      const abort = () => {
        leave()
        reject(signal.reason)
      }
      const waiting: Waiting = {
        enter: () => {
          leave()
          resolve()
        },
        refuse: (error) => {
          leave()
          reject(error)
        },
      }
      this.#line.add(waiting)
      signal.addEventListener('abort', abort, { once: true })
    })
  }

  /** A place is free: it goes to whoever has waited longest. */
  #leave(): void {
    const [next] = this.#line
    if (next) next.enter()
    else this.#running--
  }
}

export function closed(): NodeError {
  return new NodeError('The sandbox for code is closed.', 'unavailable')
}
