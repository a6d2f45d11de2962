// One GET on behalf of a caller whose answer is read as it comes: what may be reached is judged as for every other request, redirects included.
import type { Readable } from 'node:stream'
import type { Agent } from 'undici'
import { NodeError } from '../engine/node-error.ts'
import { finish } from '../time-slices.ts'
import { AllowList, bareHost } from './allow.ts'
import { failure } from './failures.ts'
import { guardedAgent } from './guarded-agent.ts'
import { checkedHeaders, receivedHeaders } from './headers.ts'
import { strictMask } from './mask.ts'
import { type Lookup, nameLookup } from './name-lookup.ts'
import type { OwnRequests } from './own-requests.ts'
import { type Hop, locationOf, redirected } from './redirects.ts'
import { targetOf } from './target.ts'
import { TimeLimit } from './time-limit.ts'

export interface FetchOptions {
  /** What may be reached beyond the public internet: entries of `SVC_HTTP_NODE_ALLOW`. */
  readonly allow: readonly string[]
  /** The operator's own choice, which may be reached wherever it is: `http://127.0.0.1:8080`. Its host with another port is another one. */
  readonly origin: string
  readonly lookup?: Lookup
  /** Knows what is sent, in a process that serves as well. */
  readonly own?: OwnRequests | null
  /** How long the head of an answer may take, and each piece of its body after the one before it, in milliseconds. */
  readonly silence_ms?: number
}

export interface Fetched {
  readonly status: number
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  /** As it comes. Fails with a NodeError. To be read to its end, or ended with `return`. */
  readonly body: AsyncIterable<Uint8Array>
  /** Nobody reads the body: its connection is let go. */
  discard(): void
}

export interface FetchRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Values in the headers that go to no other origin, and that no message shows. */
  readonly secrets: readonly string[]
  readonly signal: AbortSignal
}

const MOST_REDIRECTS = 5
const SILENCE_MS = 30_000
const AGENT = 'workflow-execution-service'

export class GuardedFetch implements AsyncDisposable {
  readonly #allow: AllowList
  readonly #lookup: Lookup
  readonly #own: OwnRequests | null
  readonly #silence_ms: number
  readonly #end = new AbortController()
  #agent: Promise<Agent> | null = null

  constructor({ allow, origin, lookup = nameLookup(), own = null, silence_ms = SILENCE_MS }: FetchOptions) {
    const { hostname, port, protocol } = new URL(origin)
    const host = bareHost(hostname)
    const shown = host.includes(':') ? `[${host}]` : host
    this.#allow = new AllowList([...allow, `${shown}:${port || (protocol === 'https:' ? 443 : 80)}`])
    this.#lookup = lookup
    this.#own = own
    this.#silence_ms = silence_ms
  }

  /** Follows redirects. @throws NodeError as OutgoingHttp does; the signal's reason */
  async get({ url, headers, secrets, signal }: FetchRequest): Promise<Fetched> {
    const mask = strictMask(secrets)
    const given = checkedHeaders({ 'User-Agent': AGENT, 'Accept-Encoding': 'identity', ...headers })
    let hop: Hop = { method: 'GET', target: targetOf(url, null, this.#allow, mask), headers: given, body: null }
    const pace = new Pace(signal, this.#silence_ms)
    try {
      for (let redirects = 0; ; redirects++) {
        const answer = await pace.wait(this.#exchange(hop, pace.signal))
        const location = locationOf(answer.status, answer.headers)
        if (location === null) return fetched(answer, pace, (error) => this.#told(error, hop, signal, pace, mask))
        answer.body.on('error', () => {}).destroy()
        if (redirects === MOST_REDIRECTS)
          throw new NodeError('The request was sent on too often.', 'too_many_redirects')
        const target = targetOf(location, hop.target.url, this.#allow, mask)
        hop = finish(redirected(hop, answer.status, target, { secrets, secret_body: false }))
      }
    } catch (error) {
      pace.end()
      throw this.#told(error, hop, signal, pace, mask)
    }
  }

  async #exchange({ target, headers }: Hop, signal: AbortSignal) {
    this.#agent ??= guardedAgent(this.#allow, this.#lookup, this.#end.signal, this.#own)
    const { statusCode, ...answer } = await (await this.#agent).request({
      origin: target.url.origin,
      path: target.url.pathname + target.url.search,
      method: 'GET',
      headers: { ...Object.fromEntries(headers), ...this.#own?.header },
      signal,
      responseHeaders: 'raw',
    })
    const raw = answer.headers as unknown as readonly string[]
    return { status: statusCode, headers: receivedHeaders(raw), body: answer.body as Readable }
  }

  #told(
    error: unknown,
    { target }: Hop,
    caller: AbortSignal,
    pace: Pace,
    mask: ReturnType<typeof strictMask>,
  ): unknown {
    if (caller.aborted) return caller.reason
    if (pace.late) return new NodeError(`"${target.shown}" was silent for too long. Try again later.`, 'http_timeout')
    return failure(error, target, mask)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new Error('The client is closed'))
    const agent = await this.#agent?.catch(() => null)
    await agent?.destroy()
  }
}

interface Answer {
  readonly status: number
  readonly headers: Map<string, string>
  readonly body: Readable
}

function fetched({ status, headers, body }: Answer, pace: Pace, told: (error: unknown) => unknown): Fetched {
  return {
    status,
    headers,
    body: pieces(body, pace, told),
    discard() {
      pace.end()
      body.on('error', () => {}).destroy()
    },
  }
}

async function* pieces(body: Readable, pace: Pace, told: (error: unknown) => unknown): AsyncGenerator<Uint8Array> {
  const source = body.iterator() as AsyncIterator<Uint8Array>
  try {
    for (;;) {
      const next = await pace.wait(source.next())
      if (next.done) return
      yield next.value
    }
  } catch (error) {
    throw told(error)
  } finally {
    pace.end()
    body.on('error', () => {}).destroy()
  }
}

/** Ends what is silent for too long: the time begins anew with each wait, and does not run while the reader is busy. */
class Pace {
  readonly #caller: AbortSignal
  readonly #ms: number
  readonly #stop = new AbortController()
  late = false

  constructor(caller: AbortSignal, ms: number) {
    this.#caller = caller
    this.#ms = ms
    caller.addEventListener('abort', this.#abort, { once: true })
    if (caller.aborted) this.#abort()
  }

  readonly #abort = () => this.#stop.abort(this.#caller.reason)

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  async wait<T>(work: Promise<T>): Promise<T> {
    using limit = new TimeLimit(this.#stop.signal, this.#ms)
    try {
      return await limit.race(work)
    } catch (error) {
      if (limit.over) {
        this.late = true
        this.#stop.abort(error)
      }
      throw error
    }
  }

  end(): void {
    this.#caller.removeEventListener('abort', this.#abort)
  }
}
