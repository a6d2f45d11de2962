// One local model, loaded when somebody asks it, and unloaded when nobody has for a while. It does one thing at a time; whoever comes meanwhile waits, and
// owners take turns.

import { Places } from '../workers/places.ts'
import { type Asked, type Exchange, LocalChild, type LocalModel, type LocalNews } from './local-child.ts'
import { ProviderError } from './provider-error.ts'

/** So many requests of one owner may wait for one model. */
const MOST_WAITING = 100

export interface RunnerParts {
  readonly model: LocalModel
  /** After so long without work it is unloaded, in milliseconds. */
  readonly idle_ms: number
  /** Before it is loaded. */
  loading(runner: LocalRunner): void
  /** Its file turned out to be none that can be used. */
  damaged(): void
}

export class LocalRunner implements Disposable {
  readonly #parts: RunnerParts
  #child: LocalChild | null = null
  readonly #places = new Places(1)
  #idle: NodeJS.Timeout | undefined
  #closed = false

  constructor(parts: RunnerParts) {
    this.#parts = parts
  }

  get model(): LocalModel {
    return this.#parts.model
  }

  get busy(): boolean {
    return !this.#places.isIdle
  }

  get loaded(): boolean {
    return this.#child !== null && !this.#child.over
  }

  /** Asks it in the turn of the owner. To be run to its end, or ended with `return`. @throws ProviderError; the signal's reason */
  async *ask(asked: Asked, owner: string, signal: AbortSignal): AsyncGenerator<LocalNews, void, void> {
    const done = await this.#turn(owner, signal)
    let exchange: Exchange | null = null
    try {
      const child = this.#running()
      await abortable(child.loaded, signal)
      exchange = child.begin(asked)
      for (;;) {
        const news = await abortable(exchange.next(), signal)
        if (news === null) return
        yield news
      }
    } finally {
      // Whoever asked does not wait until it has stopped; the next one does.
      if (exchange) void exchange.close().then(done)
      else done()
    }
  }

  /** Unloads it; what it does breaks off. It is loaded again for whoever asks next. */
  unload(): void {
    clearTimeout(this.#idle)
    this.#child?.end()
    this.#child = null
  }

  [Symbol.dispose](): void {
    this.#closed = true
    this.unload()
  }

  #running(): LocalChild {
    if (this.#closed) throw new ProviderError('failed', 'The server is closing and runs no more models.')
    if (this.#child && !this.#child.over) {
      this.#child.hold(true)
      return this.#child
    }
    this.#parts.loading(this)
    this.#child = new LocalChild(this.#parts.model, this.#parts.damaged)
    return this.#child
  }

  /** Waits until it is the owner's turn; what is given ends the turn. */
  async #turn(owner: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (this.#places.taken(owner) + this.#places.waiting(owner) >= MOST_WAITING) {
      const text = `The model "${this.model.id}" has ${MOST_WAITING} requests of yours to answer first.`
      throw new ProviderError('rate_limited', text, { retry_after_seconds: 5 })
    }
    clearTimeout(this.#idle)
    try {
      await this.#places.turn(owner, signal)
    } catch (error) {
      this.#restIfIdle()
      throw error
    }
    return () => {
      this.#places.giveBack(owner)
      this.#restIfIdle()
    }
  }

  #restIfIdle(): void {
    if (!this.busy) this.#rest()
  }

  #rest(): void {
    this.#child?.hold(false)
    this.#idle = setTimeout(() => this.unload(), this.#parts.idle_ms)
    this.#idle.unref()
  }
}

function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const aborted = () => reject(signal.reason)
    signal.addEventListener('abort', aborted, { once: true })
    work.finally(() => signal.removeEventListener('abort', aborted)).then(resolve, reject)
    if (signal.aborted) aborted()
  })
}
