// One local model, loaded when somebody asks it, and unloaded when nobody has for a while. It does one thing at a time; whoever comes meanwhile waits, and
// owners take turns.

import { FairSemaphore } from '../../../workers/fair-semaphore.ts'
import { ProviderError } from '../../provider-error.ts'
import {
  type LocalModelOutput,
  type LocalModelSettings,
  type LocalModelTask,
  ModelProcess,
  type TaskExchange,
} from './model-process.ts'

/** So many requests of one owner may wait for one model. */
const MAX_WAITING = 100

export interface LocalRunnerParts {
  readonly model: LocalModelSettings
  /** After so long without work it is unloaded, in milliseconds. */
  readonly idle_ms: number
  /** Before it is loaded. */
  beforeLoad(runner: LocalModelRunner): void
  /** Its file turned out to be none that can be used. */
  reportDamage(): void
}

export class LocalModelRunner implements Disposable {
  readonly #parts: LocalRunnerParts
  #process: ModelProcess | null = null
  readonly #places = new FairSemaphore(1)
  #idleTimer: NodeJS.Timeout | undefined
  #closed = false

  constructor(parts: LocalRunnerParts) {
    this.#parts = parts
  }

  get model(): LocalModelSettings {
    return this.#parts.model
  }

  get isBusy(): boolean {
    return !this.#places.isIdle
  }

  get isLoaded(): boolean {
    return this.#process !== null && !this.#process.hasEnded
  }

  /** Asks it in the turn of the owner. To be run to its end, or ended with `return`. @throws ProviderError; the signal's reason */
  async *run(task: LocalModelTask, owner: string, signal: AbortSignal): AsyncGenerator<LocalModelOutput, void, void> {
    const endTurn = await this.#waitForTurn(owner, signal)
    let exchange: TaskExchange | null = null
    try {
      const child = this.#startedProcess()
      await rejectOnAbort(child.loaded, signal)
      exchange = child.startTask(task)
      for (;;) {
        const output = await rejectOnAbort(exchange.next(), signal)
        if (output === null) return
        yield output
      }
    } finally {
      // Whoever asked does not wait until it has stopped; the next one does.
      if (exchange) void exchange.close().then(endTurn)
      else endTurn()
    }
  }

  /** Unloads it; what it does breaks off. It is loaded again for whoever asks next. */
  unload(): void {
    clearTimeout(this.#idleTimer)
    this.#process?.kill()
    this.#process = null
  }

  [Symbol.dispose](): void {
    this.#closed = true
    this.unload()
  }

  #startedProcess(): ModelProcess {
    if (this.#closed) throw new ProviderError('failed', 'The server is closing and runs no more models.')
    if (this.#process && !this.#process.hasEnded) {
      this.#process.keepAlive(true)
      return this.#process
    }
    this.#parts.beforeLoad(this)
    this.#process = new ModelProcess(this.#parts.model, this.#parts.reportDamage)
    return this.#process
  }

  /** Waits until it is the owner's turn; what is given ends the turn. */
  async #waitForTurn(owner: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (this.#places.countTaken(owner) + this.#places.countWaiting(owner) >= MAX_WAITING) {
      const text = `The model "${this.model.id}" has ${MAX_WAITING} requests of yours to answer first.`
      throw new ProviderError('rate_limited', text, { retry_after_seconds: 5 })
    }
    clearTimeout(this.#idleTimer)
    try {
      await this.#places.acquire(owner, signal)
    } catch (error) {
      this.#scheduleUnloadIfIdle()
      throw error
    }
    return () => {
      this.#places.release(owner)
      this.#scheduleUnloadIfIdle()
    }
  }

  #scheduleUnloadIfIdle(): void {
    if (!this.isBusy) this.#scheduleUnload()
  }

  #scheduleUnload(): void {
    this.#process?.keepAlive(false)
    this.#idleTimer = setTimeout(() => this.unload(), this.#parts.idle_ms)
    this.#idleTimer.unref()
  }
}

function rejectOnAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const rejectAborted = () => reject(signal.reason)
    signal.addEventListener('abort', rejectAborted, { once: true })
    work.finally(() => signal.removeEventListener('abort', rejectAborted)).then(resolve, reject)
    if (signal.aborted) rejectAborted()
  })
}
