// Runs one local model: loads it for the first call and unloads it after an idle time. It runs one task at a time; other calls wait, and owners take
// turns.

import { FairSemaphore } from '../../../workers/fair-semaphore.ts'
import { ProviderError } from '../../provider-error.ts'
import {
  type LocalModelOutput,
  type LocalModelSettings,
  type LocalModelTask,
  ModelProcess,
  type TaskExchange,
} from './model-process.ts'

/** Requests of one owner that may wait for one model. */
const MAX_WAITING = 100

export interface LocalRunnerParts {
  readonly model: LocalModelSettings
  /** The idle time in milliseconds after which the model is unloaded. */
  readonly idle_ms: number
  /** Called before the model is loaded. */
  beforeLoad(runner: LocalModelRunner): void
  /** Called where the model's file cannot be used. */
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

  /** Runs a task in the owner's turn. The caller reads to the end, or calls `return`. @throws ProviderError; the signal's reason */
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
      // This caller does not wait until the task has stopped; the next caller does.
      if (exchange) void exchange.close().then(endTurn)
      else endTurn()
    }
  }

  /** Unloads the model and breaks off its task. The next call loads it again. */
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

  /** Waits for the owner's turn, and gives the function that ends the turn. */
  async #waitForTurn(owner: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (this.#places.countTaken(owner) + this.#places.countWaiting(owner) >= MAX_WAITING) {
      const text = `The model "${this.model.id}" already has ${MAX_WAITING} of your requests. Try again later.`
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
