// The server's side of the process that runs one local model: starts it, gives it one task at a time, and reports its end.
import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { ProviderError } from '../../provider-error.ts'
import type { LocalRequest, ModelProcessReply } from './process-messages.ts'

/** How long a task may go on after the stop command, in milliseconds. */
const STOP_TIMEOUT_MS = 3_000

export interface LocalModelSettings {
  /** `provider/name`, for messages. */
  readonly id: string
  readonly path: string
  /** The folder from which the package is resolved. */
  readonly place: string
  readonly most_context: number
  /** The whole environment of the process. The server's own is kept from it, since native code reads untrusted files there. */
  readonly environment: Readonly<Record<string, string>>
}

export type LocalModelTask =
  | { readonly kind: 'complete'; readonly request: LocalRequest }
  | { readonly kind: 'embed'; readonly inputs: readonly string[] }
/** The output of a task, before its end. */
export type LocalModelOutput = Extract<ModelProcessReply, { kind: 'part' | 'vector' | 'embedded' }>

function isOutput(message: ModelProcessReply): message is LocalModelOutput {
  return message.kind === 'part' || message.kind === 'vector' || message.kind === 'embedded'
}

/** A text after the name of the model. */
export const DAMAGED_FILE_TEXT = 'cannot be used: it is damaged, or of a kind that the runtime does not know'

const LOAD_FAILURE_MESSAGES: Readonly<Record<'memory' | 'file' | 'runtime', (id: string) => string>> = {
  memory: (id) => `There is too little memory for the model "${id}".`,
  file: (id) => `The file of the model "${id}" ${DAMAGED_FILE_TEXT}.`,
  runtime: (id) =>
    `The runtime of the model "${id}" does not start: the package node-llama-cpp lacks its binary for this system.`,
}

/** A running task. */
export interface TaskExchange {
  /** The next output; null after the last. @throws ProviderError */
  next(): Promise<LocalModelOutput | null>
  /** Ends the task, and resolves when the process is free again. */
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

  /** `reportDamage` is called where the model's file cannot be used. */
  constructor(model: LocalModelSettings, reportDamage: () => void) {
    this.#model = model
    this.#reportDamage = reportDamage
    const env = { ...model.environment }
    this.#process = fork(join(import.meta.dirname, 'model-process-main.ts'), [], { execArgv: [], stdio: 'ignore', env })
    this.#process.on('message', (message) => this.#receive(message as ModelProcessReply))
    this.#process.on('error', (error) => this.#reportEnd('could not be started', error))
    this.#process.once('exit', (code, signal) =>
      this.#reportEnd('ended, perhaps because of too little memory', new Error(`exit code ${code}, signal ${signal}`)),
    )
    // A failed load without a waiting caller is no unhandled rejection.
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

  /** Resolves when the process has exited. */
  get exited(): Promise<void> {
    return this.#exited.promise
  }

  /** Sets whether the server stays alive for the process. */
  keepAlive(isKept: boolean): void {
    const { channel } = this.#process
    if (isKept) {
      this.#process.ref()
      channel?.ref()
    } else {
      this.#process.unref()
      channel?.unref()
    }
  }

  /** Starts a task. The model must be loaded, and the task before it must be over. */
  startTask(task: LocalModelTask): TaskExchange {
    const inbox: TaskInbox = { id: ++this.#lastId, news: [], wake: () => {} }
    this.#inbox = inbox
    this.#send({ ...task, id: inbox.id })
    let answered = false
    return {
      next: async () => {
        const message = await this.#nextMessage(inbox)
        answered = message.kind === 'done' || message.kind === 'refused'
        if (message.kind === 'refused') throw this.#createRefusalError(message)
        return isOutput(message) ? message : null
      },
      close: async () => {
        if (!answered && !this.hasEnded) await this.#stopTask(inbox)
      },
    }
  }

  /** Kills the process at any point: it has no state to save. */
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
      // The process has ended, and the task with it.
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
    // A failed send is ignored: the process has ended, which its `exit` event reports.
    if (this.#process.connected) this.#process.send(message, () => {})
  }
}
