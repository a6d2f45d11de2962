// The server's side of the process that runs one local model: starts it, asks it one thing at a time, and tells how it ended.
import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import type { FromLocal, LocalRequest } from './local-protocol.ts'
import { ProviderError } from './provider-error.ts'

/** How long work may go on after it was told to stop, in milliseconds. */
const STOPPING_MS = 3_000

export interface LocalModel {
  /** `provider/name`, for messages. */
  readonly id: string
  readonly path: string
  /** Where the package is resolved from. */
  readonly place: string
  readonly most_context: number
  /** Nothing else of the server's reaches the process, where native code reads what others wrote. */
  readonly environment: Readonly<Record<string, string>>
}

export type Asked =
  | { readonly kind: 'complete'; readonly request: LocalRequest }
  | { readonly kind: 'embed'; readonly inputs: readonly string[] }
/** What comes in answer, before its end. */
export type LocalNews = Extract<FromLocal, { kind: 'part' | 'vector' | 'embedded' }>

function isNews(message: FromLocal): message is LocalNews {
  return message.kind === 'part' || message.kind === 'vector' || message.kind === 'embedded'
}

/** Follows the name of the model. */
export const DAMAGED = 'cannot be used: it is damaged, or of a kind that the runtime does not know'

const UNLOADABLE: Readonly<Record<'memory' | 'file' | 'runtime', (id: string) => string>> = {
  memory: (id) => `There is too little memory for the model "${id}".`,
  file: (id) => `The file of the model "${id}" ${DAMAGED}.`,
  runtime: (id) =>
    `The runtime of the model "${id}" does not start: the package node-llama-cpp lacks its part for this system.`,
}

/** One thing that it was asked. */
export interface Exchange {
  /** What comes in answer; null after the last. @throws ProviderError */
  next(): Promise<LocalNews | null>
  /** Ends it, and resolves when the process is free again. */
  close(): Promise<void>
}

interface Inbox {
  readonly id: number
  readonly news: FromLocal[]
  wake: () => void
}

export class LocalChild {
  readonly #model: LocalModel
  readonly #damaged: () => void
  readonly #process: ChildProcess
  readonly #loaded = Promise.withResolvers<void>()
  readonly #gone = Promise.withResolvers<void>()
  #inbox: Inbox | null = null
  #end: ProviderError | null = null
  #ids = 0

  /** `damaged` is told where its file cannot be used. */
  constructor(model: LocalModel, damaged: () => void) {
    this.#model = model
    this.#damaged = damaged
    const env = { ...model.environment }
    this.#process = fork(join(import.meta.dirname, 'local-process.ts'), [], { execArgv: [], stdio: 'ignore', env })
    this.#process.on('message', (message) => this.#hear(message as FromLocal))
    this.#process.on('error', (error) => this.#ended('could not be started', error))
    this.#process.once('exit', (code, signal) =>
      this.#ended('ended, perhaps for want of memory', new Error(`exit code ${code}, signal ${signal}`)),
    )
    // Nobody need wait for it.
    this.#loaded.promise.catch(() => {})
    this.#send({ kind: 'load', place: model.place, path: model.path, most_context: model.most_context })
  }

  /** @throws ProviderError `unavailable`, `failed` */
  get loaded(): Promise<void> {
    return this.#loaded.promise
  }

  get over(): boolean {
    return this.#end !== null
  }

  /** When the process is gone. */
  get gone(): Promise<void> {
    return this.#gone.promise
  }

  /** Whether this process waits for it. */
  hold(held: boolean): void {
    const { channel } = this.#process
    if (held) {
      this.#process.ref()
      channel?.ref()
    } else {
      this.#process.unref()
      channel?.unref()
    }
  }

  /** Asks it, when it is loaded and what it was asked before is answered. */
  begin(asked: Asked): Exchange {
    const inbox: Inbox = { id: ++this.#ids, news: [], wake: () => {} }
    this.#inbox = inbox
    this.#send({ ...asked, id: inbox.id })
    let answered = false
    return {
      next: async () => {
        const news = await this.#next(inbox)
        answered = news.kind === 'done' || news.kind === 'refused'
        if (news.kind === 'refused') throw this.#refusal(news)
        return isNews(news) ? news : null
      },
      close: async () => {
        if (!answered && !this.over) await this.#stopped(inbox)
      },
    }
  }

  /** Ends the process, wherever it is: it has nothing to keep. */
  end(): void {
    this.#ended('was ended', null)
    this.#process.kill('SIGKILL')
  }

  async #stopped(inbox: Inbox): Promise<void> {
    this.#send({ kind: 'stop', id: inbox.id })
    const late = setTimeout(() => this.end(), STOPPING_MS)
    try {
      for (let over = false; !over; ) {
        const { kind } = await this.#next(inbox)
        over = kind === 'done' || kind === 'refused'
      }
    } catch {
      // It is gone, which is an end as well.
    } finally {
      clearTimeout(late)
    }
  }

  async #next(inbox: Inbox): Promise<FromLocal> {
    while (inbox.news.length === 0) {
      if (this.#end) throw this.#end
      await new Promise<void>((resolve) => {
        inbox.wake = resolve
      })
    }
    return inbox.news.shift()!
  }

  #hear(message: FromLocal): void {
    if (message.kind === 'loaded') return this.#loaded.resolve()
    if (message.kind === 'unloadable') {
      const cause = new Error(message.detail)
      if (message.reason === 'file') this.#damaged()
      this.#over(new ProviderError('unavailable', UNLOADABLE[message.reason](this.#model.id), { cause }))
      this.#process.kill('SIGKILL')
      return
    }
    if (message.id !== this.#inbox?.id) return
    this.#inbox.news.push(message)
    this.#inbox.wake()
  }

  #refusal({ fault, what, param, detail }: Extract<FromLocal, { kind: 'refused' }>): ProviderError {
    return new ProviderError(fault, `The model "${this.#model.id}" ${what}.`, { param, cause: new Error(detail) })
  }

  #ended(what: string, cause: Error | null): void {
    this.#over(new ProviderError('failed', `The process that runs the model "${this.#model.id}" ${what}.`, { cause }))
    if (this.#process.exitCode !== null || this.#process.signalCode !== null || this.#process.pid === undefined)
      this.#gone.resolve()
  }

  #over(error: ProviderError): void {
    this.#end ??= error
    this.#loaded.reject(this.#end)
    this.#inbox?.wake()
  }

  #send(message: object): void {
    // What cannot be sent has nobody to hear it; its end is told by itself.
    if (this.#process.connected) this.#process.send(message, () => {})
  }
}
