// The witness: a server of its own that the jobs call. It outlives every kill, and writes down when each call began and how it went. It runs in
// a thread of its own (`counter-worker.ts`), so that it sees calls when they come, however busy the harness is.
// A path is `/<label>/<node>/<index>`: whose call it is, of which node, and what the node was given.

import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { Worker } from 'node:worker_threads'
import { sha256 } from '../../src/shared/hashes.ts'

/** Calls by GET and PUT may be made twice. */
export type Method = 'GET' | 'PUT' | 'POST'

export interface CallRecord {
  readonly method: Method
  readonly path: string
  /** Milliseconds since the epoch, as the events of jobs have them. */
  readonly begun_at: number
  /** Since when it may have lain in its socket: the witness looked before, and had no processor until `begun_at`. */
  readonly since: number
  /** When the whole answer had been handed over; null where the caller had gone. */
  ended_at: number | null
}

/** What the thread tells: first where it listens, then each call as it begins, and by its number, which counts from 0, as it ends. */
export type FromCounter =
  | { readonly kind: 'listens'; readonly port: number }
  | { readonly kind: 'begun'; readonly call: CallRecord }
  | { readonly kind: 'ended'; readonly number: number; readonly at: number }
  | { readonly kind: 'told' }

/** Asks it to say so once it has told all that it has seen. */
export const TELL = 'tell'

/** Asks for nothing, and is no call. */
export const NOTHING = '/'

/** What a call is answered: it depends on nothing but the call, so that a wrong or missing one shows in what follows from it. */
export function answerTo(method: Method, path: string): string {
  return sha256(`${method} ${path}`).slice(0, 12)
}

export class Counter implements AsyncDisposable {
  readonly calls: CallRecord[] = []
  /** `127.0.0.1:port` */
  readonly host: string
  readonly #byLabel = new Map<string, CallRecord[]>()
  readonly #worker: Worker
  readonly #waiting: (() => void)[] = []

  private constructor(worker: Worker, port: number) {
    this.#worker = worker
    this.host = `127.0.0.1:${port}`
    worker.on('message', (message: FromCounter) => this.#hear(message))
  }

  static async start(seed: string): Promise<Counter> {
    const worker = new Worker(new URL('./counter-worker.ts', import.meta.url), { workerData: seed, execArgv: [] })
    const [listens] = (await once(worker, 'message')) as [Extract<FromCounter, { kind: 'listens' }>]
    return new Counter(worker, listens.port)
  }

  /** The calls under a label, in the order of their beginning. */
  of(label: string): readonly CallRecord[] {
    return this.#byLabel.get(label) ?? []
  }

  /**
   * Resolves when all calls are written down that had been sent before, as by a server that was killed since. A connection of its own comes behind theirs,
   * and what lies in their sockets is read in the same turns.
   */
  async caughtUp(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const take = (response: IncomingMessage) => response.resume().on('end', resolve)
    get(`http://${this.host}${NOTHING}`, { agent: false }, take).on('error', reject)
    await promise
    const told = Promise.withResolvers<void>()
    this.#waiting.push(told.resolve)
    this.#worker.postMessage(TELL)
    await told.promise
  }

  #hear(message: FromCounter): void {
    if (message.kind === 'begun') this.#write(message.call)
    else if (message.kind === 'ended') this.calls[message.number]!.ended_at = message.at
    else if (message.kind === 'told') this.#waiting.shift()!()
  }

  #write(call: CallRecord): void {
    const label = call.path.split('/')[1]!
    const earlier = this.#byLabel.get(label)
    if (earlier) earlier.push(call)
    else this.#byLabel.set(label, [call])
    this.calls.push(call)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate()
  }
}
