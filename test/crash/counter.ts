// The witness: a separate HTTP server that the jobs call. It survives every kill, and records the begin and the outcome of each call. It
// runs in a thread of its own (`counter-worker.ts`), so that a busy harness does not delay it. A path is `/<label>/<node>/<index>`: the
// job, the node and the node's input.

import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { Worker } from 'node:worker_threads'
import { sha256 } from '../../src/shared/hashes.ts'

/** GET and PUT calls are safe to repeat. */
export type Method = 'GET' | 'PUT' | 'POST'

export interface CallRecord {
  readonly method: Method
  readonly path: string
  /** Milliseconds since the epoch, as in job events. */
  readonly begun_at: number
  /** The earliest time at which the call may have arrived. The witness checked its sockets then, and had no processor until `begun_at`. */
  readonly since: number
  /** When the whole answer had been sent. Null where the caller had disconnected. */
  ended_at: number | null
}

/** Messages of the thread: first the port, then each call at its begin, and again at its end by its number, from 0. */
export type FromCounter =
  | { readonly kind: 'listens'; readonly port: number }
  | { readonly kind: 'begun'; readonly call: CallRecord }
  | { readonly kind: 'ended'; readonly number: number; readonly at: number }
  | { readonly kind: 'told' }

/** Asks the thread to confirm that it has reported all calls so far. */
export const TELL = 'tell'

/** A request that is not a call. */
export const NOTHING = '/'

/** Returns the answer to a call. It depends only on the call, so a wrong or missing answer shows in later calls. */
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

  /** Returns the calls under a label in the order of their begin. */
  of(label: string): readonly CallRecord[] {
    return this.#byLabel.get(label) ?? []
  }

  /**
   * Resolves when all earlier calls are recorded, such as those of a server that was killed since. A new connection queues behind theirs,
   * and the same turns read what lies in their sockets.
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
