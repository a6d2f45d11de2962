// The sandbox: runs untrusted code in QuickJS, compiled to WebAssembly, in worker threads that can be killed. Its parts:
// ../workers/fair-semaphore.ts (turns), worker-pool.ts and worker-handle.ts (workers), script-call.ts (one call), worker.ts and quickjs
// (inside).
import type { CodeSandbox, SandboxScript } from '../engine/node-api/services/sandbox.ts'
import { DEFAULT_WORKERS, MAX_HELD_STREAMS } from './limits.ts'
import { ScriptCall } from './script-call.ts'
import { createSandboxClosedError, type SandboxLimits, SandboxWorkerPool } from './worker-pool.ts'

export type CodeSandboxOptions = Partial<SandboxLimits>

type Values = Record<string, unknown>

/** A generator whose `return` does not wait for a pending item, unlike that of an `async function*`. */
class ScriptStream implements AsyncGenerator<Values, Values, void> {
  readonly #call: ScriptCall
  readonly #running: Set<ScriptCall>
  #state: 'new' | 'running' | 'over' = 'new'

  constructor(call: ScriptCall, running: Set<ScriptCall>) {
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
    if (this.#state === 'running') this.#call.cancel()
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

class QuickJsSandbox implements CodeSandbox, AsyncDisposable {
  readonly #pool: SandboxWorkerPool
  readonly #running = new Set<ScriptCall>()

  constructor(limits: SandboxLimits) {
    this.#pool = new SandboxWorkerPool(limits)
  }

  async call(script: SandboxScript): Promise<Values> {
    const call = new ScriptCall(script, this.#pool)
    this.#running.add(call)
    try {
      void call.start(false)
      return (await call.next()).value
    } finally {
      this.#running.delete(call)
    }
  }

  stream(script: SandboxScript): ScriptStream {
    return new ScriptStream(new ScriptCall(script, this.#pool), this.#running)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#pool.close()
    for (const call of this.#running) call.fail(createSandboxClosedError())
    await this.#pool.waitForExit()
  }
}

/**
 * Creates a sandbox. Workers start on demand; idle ones do not keep the process alive. Disposing of it ends all workers: running and
 * waiting calls then fail with `unavailable`.
 */
export function createCodeSandbox({
  workers = DEFAULT_WORKERS,
  held = MAX_HELD_STREAMS,
}: CodeSandboxOptions = {}): CodeSandbox & AsyncDisposable {
  return new QuickJsSandbox({ workers, held })
}
