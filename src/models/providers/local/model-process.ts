// The server's side of the process that runs one local model: starts it, asks it one thing at a time, and tells how it ended.
import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { ProviderError } from '../../provider-error.ts'
import type { LocalRequest, ModelProcessReply } from './process-messages.ts'

/** How long work may go on after it was told to stop, in milliseconds. */
const STOP_TIMEOUT_MS = 3_000

export interface LocalModelSettings {
  /** `provider/name`, for messages. */
  readonly id: string
  readonly path: string
  /** Where the package is resolved from. */
  readonly place: string
  readonly most_context: number
  /** Nothing else of the server's reaches the process, where native code reads what others wrote. */
  readonly environment: Readonly<Record<string, string>>
}

export type LocalModelTask =
  | { readonly kind: 'complete'; readonly request: LocalRequest }
  | { readonly kind: 'embed'; readonly inputs: readonly string[] }
/** What comes in answer, before its end. */
export type LocalModelOutput = Extract<ModelProcessReply, { kind: 'part' | 'vector' | 'embedded' }>

function isOutput(message: ModelProcessReply): message is LocalModelOutput {
  return message.kind === 'part' || message.kind === 'vector' || message.kind === 'embedded'
}

/** Follows the name of the model. */
export const DAMAGED_FILE_TEXT = 'cannot be used: it is damaged, or of a kind that the runtime does not know'

const LOAD_FAILURE_MESSAGES: Readonly<Record<'memory' | 'file' | 'runtime', (id: string) => string>> = {
  memory: (id) => `There is too little memory for the model "${id}".`,
  file: (id) => `The file of the model "${id}" ${DAMAGED_FILE_TEXT}.`,
  runtime: (id) =>
    `The runtime of the model "${id}" does not start: the package node-llama-cpp lacks its part for this system.`,
}

/** One thing that it was asked. */
export interface TaskExchange {
  /** What comes in answer; null after the last. @throws ProviderError */
  next(): Promise<LocalModelOutput | null>
  /** Ends it, and resolves when the process is free again. */
  close(): Promise<void>
}

interface TaskInbox {
  readonly id: number
  readonly news: ModelProcessReply[]
  wake: () => void
}

export class ModelProcess {
  readonly #model: LocalModelSettings
  readonly #reportDamage: () => void
  readonly #process: ChildProcess
  readonly #loaded = Promise.withResolvers<void>()
  readonly #exited = Promise.withResolvers<void>()
  #inbox: TaskInbox | null = null
  #endError: ProviderError | null = null
  #lastId = 0

  /** `damaged` is told where its file cannot be used. */
  constructor(model: LocalModelSettings, damaged: () => void) {
    this.#model = model
    this.#reportDamage = damaged
    const env = { ...model.environment }
    this.#process = fork(join(import.meta.dirname, 'model-process-main.ts'), [], { execArgv: [], stdio: 'ignore', env })
    this.#process.on('message', (message) => this.#receive(message as ModelProcessReply))
    this.#process.on('error', (error) => this.#reportEnd('could not be started', error))
    this.#process.once('exit', (code, signal) =>
      this.#reportEnd('ended, perhaps for want of memory', new Error(`exit code ${code}, signal ${signal}`)),
    )
    // Nobody need wait for it.
    this.#loaded.promise.catch(() => {})
    this.#send({ kind: 'load', place: model.place, path: model.path, most_context: model.most_context })
  }

  /** @throws ProviderError `unavailable`, `failed` */
  get loaded(): Promise<void> {
    return this.#loaded.promise
  }

  get hasEnded(): boolean {
    return this.#endError !== null
  }

  /** When the process is gone. */
  get exited(): Promise<void> {
    return this.#exited.promise
  }

  /** Whether this process waits for it. */
  keepAlive(held: boolean): void {
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
  startTask(asked: LocalModelTask): TaskExchange {
    const inbox: TaskInbox = { id: ++this.#lastId, news: [], wake: () => {} }
    this.#inbox = inbox
    this.#send({ ...asked, id: inbox.id })
    let answered = false
    return {
      next: async () => {
        const news = await this.#nextMessage(inbox)
        answered = news.kind === 'done' || news.kind === 'refused'
        if (news.kind === 'refused') throw this.#createRefusalError(news)
        return isOutput(news) ? news : null
      },
      close: async () => {
        if (!answered && !this.hasEnded) await this.#stopTask(inbox)
      },
    }
  }

  /** Ends the process, wherever it is: it has nothing to keep. */
  kill(): void {
    this.#reportEnd('was ended', null)
    this.#process.kill('SIGKILL')
  }

  async #stopTask(inbox: TaskInbox): Promise<void> {
    this.#send({ kind: 'stop', id: inbox.id })
    const late = setTimeout(() => this.kill(), STOP_TIMEOUT_MS)
    try {
      for (let over = false; !over; ) {
        const { kind } = await this.#nextMessage(inbox)
        over = kind === 'done' || kind === 'refused'
      }
    } catch {
      // It is gone, which is an end as well.
    } finally {
      clearTimeout(late)
    }
  }

  async #nextMessage(inbox: TaskInbox): Promise<ModelProcessReply> {
    while (inbox.news.length === 0) {
      if (this.#endError) throw this.#endError
      await new Promise<void>((resolve) => {
        inbox.wake = resolve
      })
    }
    return inbox.news.shift()!
  }

  #receive(message: ModelProcessReply): void {
    if (message.kind === 'loaded') return this.#loaded.resolve()
    if (message.kind === 'unloadable') {
      const cause = new Error(message.detail)
      if (message.reason === 'file') this.#reportDamage()
      this.#finish(new ProviderError('unavailable', LOAD_FAILURE_MESSAGES[message.reason](this.#model.id), { cause }))
      this.#process.kill('SIGKILL')
      return
    }
    if (message.id !== this.#inbox?.id) return
    this.#inbox.news.push(message)
    this.#inbox.wake()
  }

  #createRefusalError({ fault, what, param, detail }: Extract<ModelProcessReply, { kind: 'refused' }>): ProviderError {
    return new ProviderError(fault, `The model "${this.#model.id}" ${what}.`, { param, cause: new Error(detail) })
  }

  #reportEnd(what: string, cause: Error | null): void {
    this.#finish(new ProviderError('failed', `The process that runs the model "${this.#model.id}" ${what}.`, { cause }))
    if (this.#process.exitCode !== null || this.#process.signalCode !== null || this.#process.pid === undefined)
      this.#exited.resolve()
  }

  #finish(error: ProviderError): void {
    this.#endError ??= error
    this.#loaded.reject(this.#endError)
    this.#inbox?.wake()
  }

  #send(message: object): void {
    // What cannot be sent has nobody to hear it; its end is told by itself.
    if (this.#process.connected) this.#process.send(message, () => {})
  }
}
