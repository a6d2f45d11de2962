// The sandbox: runs code that nobody trusts in QuickJS, compiled to WebAssembly, inside of worker threads that can be killed.
// What is behind it: workers/places.ts (who runs when), pool.ts (who has which worker), member.ts (one worker), call.ts (one call), worker.ts and engine.ts (inside).
import type { CodeSandbox, Script } from '../engine/services.ts'
import { Call } from './call.ts'
import { HELD_WORKERS, WORKERS } from './limits.ts'
import { closed, Pool, type PoolLimits } from './pool.ts'

export type SandboxOptions = Partial<PoolLimits>

type Values = Record<string, unknown>

/** A generator whose end doesn't wait for an item that is under way, as an `async function*` would. */
class CodeStream implements AsyncGenerator<Values, Values, void> {
  readonly #call: Call
  readonly #running: Set<Call>
  #state: 'new' | 'running' | 'over' = 'new'

  constructor(call: Call, running: Set<Call>) {
    this.#call = call
    this.#running = running
  }

  async next(): Promise<IteratorResult<Values, Values>> {
    if (this.#state === 'over') return { done: true, value: {} }
    if (this.#state === 'new') {
      this.#state = 'running'
      this.#running.add(this.#call)
      void this.#call.start(true)
    }
    try {
      const result = await this.#call.next()
      if (result.done) this.#end()
      return result
    } catch (error) {
      this.#end()
      throw error
    }
  }

  async return(value?: Values | PromiseLike<Values>): Promise<IteratorResult<Values, Values>> {
    if (this.#state === 'running') this.#call.leave()
    this.#end()
    return { done: true, value: (await value) ?? {} }
  }

  async throw(error: unknown): Promise<never> {
    await this.return()
    throw error
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  #end(): void {
    this.#state = 'over'
    this.#running.delete(this.#call)
  }
}

class Sandbox implements CodeSandbox, AsyncDisposable {
  readonly #pool: Pool
  readonly #running = new Set<Call>()

  constructor(limits: PoolLimits) {
    this.#pool = new Pool(limits)
  }

  async call(script: Script): Promise<Values> {
    const call = new Call(script, this.#pool)
    this.#running.add(call)
    try {
      void call.start(false)
      return (await call.next()).value
    } finally {
      this.#running.delete(call)
    }
  }

  stream(script: Script): CodeStream {
    return new CodeStream(new Call(script, this.#pool), this.#running)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#pool.close()
    for (const call of this.#running) call.fail(closed())
    await this.#pool.gone()
  }
}

/**
 * A sandbox. Starts workers as they are needed; idle ones don't keep the process alive. Dispose of it to end them all:
 * whatever runs or waits then fails with `unavailable`.
 */
export function createSandbox({
  workers = WORKERS,
  held = HELD_WORKERS,
}: SandboxOptions = {}): CodeSandbox & AsyncDisposable {
  return new Sandbox({ workers, held })
}
