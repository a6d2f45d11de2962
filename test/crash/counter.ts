// The witness: a server of its own that the jobs call. It outlives every kill, and writes down when each call began and how it went.
// A path is `/<label>/<node>/<index>`: whose call it is, of which node, and what the node was given.
import { createHash } from 'node:crypto'
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { nextTurn } from '../../src/time-slices.ts'
import { largeOf } from './large.ts'

/** Calls by GET and PUT may be made twice. */
export type Method = 'GET' | 'PUT' | 'POST'

export interface CallRecord {
  readonly method: Method
  readonly path: string
  /** Milliseconds since the epoch, as the events of jobs have them. */
  readonly begun_at: number
  /** When the whole answer had been handed over; null where the caller had gone. */
  ended_at: number | null
}

/** What a call is answered: it depends on nothing but the call, so that a wrong or missing one shows in what follows from it. */
export function answerTo(method: Method, path: string): string {
  return digest(`${method} ${path}`).slice(0, 12)
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** The longest wait for an answer in milliseconds. */
const SLOWEST: Readonly<Record<Method, number>> = { GET: 500, PUT: 250, POST: 250 }

/** Asks for nothing, and is no call. */
const NOTHING = '/'

export class Counter implements AsyncDisposable {
  readonly calls: CallRecord[] = []
  readonly #byLabel = new Map<string, CallRecord[]>()
  // Idle connections stay: one that is closed while a call is on its way to it would fail a call that must not be made twice.
  readonly #server = createServer({ keepAliveTimeout: 0 }, (request, response) => this.#take(request, response))
  readonly #seed: string
  readonly #timers = new Set<NodeJS.Timeout>()

  private constructor(seed: string) {
    this.#seed = seed
  }

  static async start(seed: string): Promise<Counter> {
    const counter = new Counter(seed)
    await new Promise<void>((resolve) => counter.#server.listen(0, '127.0.0.1', resolve))
    return counter
  }

  /** `127.0.0.1:port` */
  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** The calls under a label, in the order of their beginning. */
  of(label: string): readonly CallRecord[] {
    return this.#byLabel.get(label) ?? []
  }

  /**
   * Resolves when all calls are written down that had been sent before, as by a server that was killed since: on a busy machine they would count as
   * begun after the kill. A connection of its own comes behind theirs, and what lies in their sockets is read in the same turns.
   */
  async caughtUp(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const take = (response: IncomingMessage) => response.resume().on('end', resolve)
    get(`http://${this.host}${NOTHING}`, { agent: false }, take).on('error', reject)
    await promise
    await nextTurn()
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const { method, url: path } = request as { method: Method; url: string }
    if (path === NOTHING) {
      response.end()
      return
    }
    const record: CallRecord = { method, path, begun_at: Date.now(), ended_at: null }
    const label = path.split('/')[1]!
    const earlier = this.#byLabel.get(label) ?? []
    this.#byLabel.set(label, [...earlier, record])
    this.calls.push(record)
    response.on('finish', () => {
      record.ended_at = Date.now()
    })
    request.resume()
    const times = earlier.filter((one) => one.path === path).length
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer)
        answer(response, method, path, times)
      },
      this.#wait(method, path, times),
    )
    this.#timers.add(timer)
  }

  /**
   * Spread over the calls, and the same for the same call in each run with this seed. Every fourth, and each
   * `/quick/`, is answered at once.
   */
  #wait(method: Method, path: string, times: number): number {
    if (path.includes('/quick/')) return 0
    const [first, second] = Buffer.from(digest(`${this.#seed} ${path} ${times}`), 'hex')
    return first! % 4 === 0 ? 0 : (second! / 255) * SLOWEST[method]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

/** `/fail/` never works, `/flaky/` not the first time; what `/big/` is answered is large. */
function answer(response: ServerResponse, method: Method, path: string, times: number): void {
  const fails = path.includes('/fail/') || (path.includes('/flaky/') && times === 0)
  response.writeHead(fails ? 500 : 200, { 'content-type': 'text/plain' })
  const text = answerTo(method, path)
  response.end(fails ? 'no' : path.includes('/big/') ? largeOf(text) : text)
}
