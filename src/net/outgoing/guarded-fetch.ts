// Sends GET requests on behalf of a caller, who reads the answers as streams. Targets and redirects are checked as for all other requests.
import type { Readable } from 'node:stream'
import type { Agent } from 'undici'
import { NodeError } from '../../engine/node-api/node-error.ts'
import { runToCompletion } from '../../shared/time-slices.ts'
import type { OwnRequestDetector } from '../own-request-detector.ts'
import { createStrictMask } from '../secret-mask.ts'
import { AllowList, normalizeHost } from './allow-list.ts'
import { createDnsLookup, type HostLookup } from './dns-lookup.ts'
import { createGuardedAgent } from './guarded-agent.ts'
import { parseRawHeaders, validateHeaders } from './http-headers.ts'
import { createRedirectedHopSteps, findRedirectLocation, type RequestHop } from './redirects.ts'
import { RequestDeadline } from './request-deadline.ts'
import { toRequestError } from './request-errors.ts'
import { resolveTarget } from './target-url.ts'

export interface GuardedFetchOptions {
  /** Addresses beyond the public internet that requests may reach: entries of `SVC_HTTP_NODE_ALLOW`. */
  readonly allow: readonly string[]
  /**
   * The origin that the operator configured, such as `http://127.0.0.1:8080`. Requests may reach it at any address, but only at this port.
   */
  readonly origin: string
  readonly lookup?: HostLookup
  /** Recognizes the requests of this process, where the process is also a server. */
  readonly own?: OwnRequestDetector | null
  /** How long the head of an answer, and then each chunk of its body, may take, in milliseconds. */
  readonly idle_timeout_ms?: number
}

export interface FetchedResponse {
  readonly status: number
  /** By name in lower case. */
  readonly headers: ReadonlyMap<string, string>
  /** The body as a stream. It fails with a NodeError. The caller reads it to its end, or ends it with `return`. */
  readonly body: AsyncIterable<Uint8Array>
  /** Discards the body and releases its connection. */
  discard(): void
}

export interface GuardedFetchRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Header values that go to no other origin and appear in no message. */
  readonly secrets: readonly string[]
  readonly signal: AbortSignal
}

const MAX_REDIRECTS = 5
const IDLE_TIMEOUT_MS = 30_000
const USER_AGENT = 'workflow-execution-service'

export class GuardedFetch implements AsyncDisposable {
  readonly #allow: AllowList
  readonly #lookup: HostLookup
  readonly #own: OwnRequestDetector | null
  readonly #idle_timeout_ms: number
  readonly #closing = new AbortController()
  #agent: Promise<Agent> | null = null

  constructor({
    allow,
    origin,
    lookup = createDnsLookup(),
    own = null,
    idle_timeout_ms = IDLE_TIMEOUT_MS,
  }: GuardedFetchOptions) {
    const { hostname, port, protocol } = new URL(origin)
    const host = normalizeHost(hostname)
    const shown = host.includes(':') ? `[${host}]` : host
    this.#allow = new AllowList([...allow, `${shown}:${port || (protocol === 'https:' ? 443 : 80)}`])
    this.#lookup = lookup
    this.#own = own
    this.#idle_timeout_ms = idle_timeout_ms
  }

  /** Follows redirects. @throws NodeError as OutgoingHttp does; the signal's reason */
  async get({ url, headers, secrets, signal }: GuardedFetchRequest): Promise<FetchedResponse> {
    const mask = createStrictMask(secrets)
    const given = validateHeaders({ 'User-Agent': USER_AGENT, 'Accept-Encoding': 'identity', ...headers })
    let hop: RequestHop = {
      method: 'GET',
      target: resolveTarget(url, null, this.#allow, mask),
      headers: given,
      body: null,
    }
    const pace = new IdleTimeout(signal, this.#idle_timeout_ms)
    try {
      for (let redirects = 0; ; redirects++) {
        const answer = await pace.raceIdleTimeout(this.#exchange(hop, pace.signal))
        const location = findRedirectLocation(answer.status, answer.headers)
        if (location === null)
          return createFetchedResponse(answer, pace, (error) => this.#toCallerError(error, hop, signal, pace, mask))
        answer.body.on('error', () => {}).destroy()
        if (redirects === MAX_REDIRECTS)
          throw new NodeError('The request was redirected too often.', 'too_many_redirects')
        const target = resolveTarget(location, hop.target.url, this.#allow, mask)
        hop = runToCompletion(createRedirectedHopSteps(hop, answer.status, target, { secrets, secret_body: false }))
      }
    } catch (error) {
      pace.detach()
      throw this.#toCallerError(error, hop, signal, pace, mask)
    }
  }

  async #exchange({ target, headers }: RequestHop, signal: AbortSignal) {
    this.#agent ??= createGuardedAgent(this.#allow, this.#lookup, this.#closing.signal, this.#own)
    const { statusCode, ...answer } = await (await this.#agent).request({
      origin: target.url.origin,
      path: target.url.pathname + target.url.search,
      method: 'GET',
      headers: { ...Object.fromEntries(headers), ...this.#own?.markHeaders },
      signal,
      responseHeaders: 'raw',
    })
    const raw = answer.headers as unknown as readonly string[]
    return { status: statusCode, headers: parseRawHeaders(raw), body: answer.body as Readable }
  }

  #toCallerError(
    error: unknown,
    { target }: RequestHop,
    caller: AbortSignal,
    pace: IdleTimeout,
    mask: ReturnType<typeof createStrictMask>,
  ): unknown {
    if (caller.aborted) return caller.reason
    if (pace.hasExpired)
      return new NodeError(`"${target.shown}" was silent for too long. Try again later.`, 'http_timeout')
    return toRequestError(error, target, mask)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('The client is closed'))
    const agent = await this.#agent?.catch(() => null)
    await agent?.destroy()
  }
}

interface RawResponse {
  readonly status: number
  readonly headers: Map<string, string>
  readonly body: Readable
}

function createFetchedResponse(
  { status, headers, body }: RawResponse,
  pace: IdleTimeout,
  toCallerError: (error: unknown) => unknown,
): FetchedResponse {
  return {
    status,
    headers,
    body: readChunks(body, pace, toCallerError),
    discard() {
      pace.detach()
      body.on('error', () => {}).destroy()
    },
  }
}

async function* readChunks(
  body: Readable,
  pace: IdleTimeout,
  toCallerError: (error: unknown) => unknown,
): AsyncGenerator<Uint8Array> {
  const source = body.iterator() as AsyncIterator<Uint8Array>
  try {
    for (;;) {
      const next = await pace.raceIdleTimeout(source.next())
      if (next.done) return
      yield next.value
    }
  } catch (error) {
    throw toCallerError(error)
  } finally {
    pace.detach()
    body.on('error', () => {}).destroy()
  }
}

/** Ends a request whose server is silent for too long. The time restarts with each wait, and stops while the reader is busy. */
class IdleTimeout {
  readonly #caller: AbortSignal
  readonly #ms: number
  readonly #stop = new AbortController()
  hasExpired = false

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

  async raceIdleTimeout<T>(work: Promise<T>): Promise<T> {
    using limit = new RequestDeadline(this.#stop.signal, this.#ms)
    try {
      return await limit.race(work)
    } catch (error) {
      if (limit.hasPassed) {
        this.hasExpired = true
        this.#stop.abort(error)
      }
      throw error
    }
  }

  detach(): void {
    this.#caller.removeEventListener('abort', this.#abort)
  }
}
