// Sends all HTTP requests on behalf of callers. The client follows redirects itself,
// checks every target, and reads no more than the caller asked for.
import type { Readable } from 'node:stream'
import type { Agent, Dispatcher } from 'undici'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { IncomingResponse, OutgoingHttp, OutgoingRequest } from '../../engine/node-api/services/outgoing-http.ts'
import { outgoingTimeSlices } from '../outgoing-time-slices.ts'
import type { OwnRequestDetector } from '../own-request-detector.ts'
import { createStrictMaskSteps, type SecretMask } from '../secret-mask.ts'
import { OwnerAgentPool } from './agent-pool.ts'
import { AllowList } from './allow-list.ts'
import { OriginConnectionQuota } from './connection-quota.ts'
import { createDnsLookup, type HostLookup } from './dns-lookup.ts'
import { createGuardedAgent } from './guarded-agent.ts'
import { type HttpHeaders, parseRawHeaders, validateHeaders } from './http-headers.ts'
import { createRedirectedHopSteps, findRedirectLocation, type RequestHop } from './redirects.ts'
import { RequestDeadline } from './request-deadline.ts'
import { connectionWaitTimeoutError, requestTimeoutError, toRequestError } from './request-errors.ts'
import { ACCEPTED_ENCODINGS, parseContentEncodings, readLimitedBody, responseTooLargeError } from './response-body.ts'
import { type OutgoingTarget, resolveTarget } from './target-url.ts'

export interface OutgoingHttpClientOptions {
  /** Addresses beyond the public internet that requests may reach: entries of `SVC_HTTP_NODE_ALLOW`. */
  readonly allow: readonly string[]
  /** How names are looked up. Absent: by the hosts file and the system's name servers. */
  readonly lookup?: HostLookup
  /** Recognizes the requests of this process, where the process is also a server. */
  readonly own?: OwnRequestDetector | null
}

/** An answer whose body has not been read yet. */
interface RawResponse {
  readonly status: number
  readonly headers: HttpHeaders
  readonly body: Readable
}

/** A request under way. */
interface RequestInProgress {
  readonly request: OutgoingRequest
  readonly owner: string
  readonly limit: RequestDeadline
  /** Whether the request waits for a connection. */
  isWaiting: boolean
}

const METHOD_PATTERN = /^(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)$/
const USER_AGENT = 'workflow-execution-service'
/** How much of a redirect's body is read, so that its connection can be used again. */
const MAX_REDIRECT_BODY_BYTES = 16_384

export interface OutgoingHttpClient extends OutgoingHttp, AsyncDisposable {
  /** Returns the client of one user. Users share the connections to an origin. Requests without an owner count as those of one user. */
  forOwner(owner: string): OutgoingHttp
}

const NO_OWNER = ''

class GuardedHttpClient implements OutgoingHttpClient {
  readonly #allow: AllowList
  readonly #own: OwnRequestDetector | null
  readonly #closing = new AbortController()
  readonly #connections = new OriginConnectionQuota()
  readonly #agents: OwnerAgentPool

  constructor({ allow, lookup = createDnsLookup(), own = null }: OutgoingHttpClientOptions) {
    this.#allow = new AllowList(allow)
    this.#own = own
    const opened = this.#connections.countConnection.bind(this.#connections)
    this.#agents = new OwnerAgentPool((end) => createGuardedAgent(this.#allow, lookup, end, own, opened))
  }

  send(request: OutgoingRequest): Promise<IncomingResponse> {
    return this.#send(request, NO_OWNER)
  }

  forOwner(owner: string): OutgoingHttp {
    return { send: (request) => this.#send(request, owner) }
  }

  async #send(request: OutgoingRequest, owner: string): Promise<IncomingResponse> {
    request.signal.throwIfAborted()
    const first = await this.#firstHop(request, owner)
    using limit = new RequestDeadline(request.signal, request.timeout_ms)
    return await this.#follow({ request, owner, limit, isWaiting: false }, first)
  }

  async #firstHop({ method, url, headers: given, body, secrets }: OutgoingRequest, owner: string): Promise<RequestHop> {
    const mask = await createMaskForOwner(secrets, owner)
    if (!METHOD_PATTERN.test(method)) throw new NodeError(`The method "${method}" is not supported.`, 'bad_header')
    const headers = validateHeaders(given)
    const target = resolveTarget(url, null, this.#allow, mask)
    if (target.authorization !== null) {
      if (headers.has('authorization')) {
        throw new NodeError('Give either an Authorization header or credentials in the URL, not both.', 'bad_header')
      }
      headers.set('authorization', target.authorization)
    }
    const ours: [string, string][] = [
      ['accept', '*/*'],
      ['accept-encoding', ACCEPTED_ENCODINGS],
      ['user-agent', USER_AGENT],
    ]
    return { method, target, headers: new Map([...ours, ...headers]), body }
  }

  async #follow(sending: RequestInProgress, first: RequestHop): Promise<IncomingResponse> {
    const { request, limit } = sending
    let hop = first
    try {
      for (let redirects = 0; ; redirects++) {
        // The library checks the signal only once it is connected.
        const answer = await limit.race(this.#exchange(hop, sending))
        const location = request.max_redirects > 0 ? findRedirectLocation(answer.status, answer.headers) : null
        if (location === null) return await toIncomingResponse(answer, hop, request)
        await discardBody(answer, limit.signal)
        if (redirects === request.max_redirects) throw tooManyRedirectsError(hop.target.shown, redirects)
        hop = await this.#nextHop(hop, answer.status, location, sending)
      }
    } catch (error) {
      throw await this.#toCallerError(error, sending, hop.target)
    }
  }

  async #nextHop(
    hop: RequestHop,
    status: number,
    location: string,
    { request, owner }: RequestInProgress,
  ): Promise<RequestHop> {
    const target = resolveTarget(
      location,
      hop.target.url,
      this.#allow,
      await createMaskForOwner(request.secrets, owner),
    )
    return await outgoingTimeSlices.begin(owner, createRedirectedHopSteps(hop, status, target, request))
  }

  /** Returns the error for the caller: the reason of its own abort, a timeout, or the failure of the request. */
  async #toCallerError(
    error: unknown,
    { request, owner, limit, isWaiting }: RequestInProgress,
    target: OutgoingTarget,
  ): Promise<unknown> {
    if (request.signal.aborted) return request.signal.reason
    if (limit.hasPassed)
      return (isWaiting ? connectionWaitTimeoutError : requestTimeoutError)(target.shown, request.timeout_ms)
    if (this.#closing.signal.aborted) return closingError()
    return toRequestError(error, target, await createMaskForOwner(request.secrets, owner))
  }

  /** Holds a connection until the body of the answer closes. The caller reads the body to its end, or destroys it. */
  async #exchange(hop: RequestHop, sending: RequestInProgress): Promise<RawResponse> {
    const { owner, limit } = sending
    const { origin } = hop.target.url
    sending.isWaiting = true
    const giveBack = await this.#connections.take(origin, owner, limit.signal)
    sending.isWaiting = false
    const isFull = this.#connections.isFull(origin)
    if (isFull) await this.#agents.closeIdleAgents()
    if (this.#closing.signal.aborted) {
      giveBack()
      throw closingError()
    }
    const { agent, release } = this.#agents.take(owner)
    const over = () => {
      release()
      giveBack()
    }
    try {
      const answer = await this.#requestOnAgent(await agent, hop, limit.signal, isFull)
      if (answer.body.closed) over()
      else answer.body.once('close', over)
      return answer
    } catch (error) {
      over()
      throw error
    }
  }

  /** `isLast`: the connection is not kept for another request. */
  async #requestOnAgent(
    agent: Agent,
    { method, target, headers, body }: RequestHop,
    signal: AbortSignal,
    isLast: boolean,
  ): Promise<RawResponse> {
    if (this.#closing.signal.aborted) throw closingError()
    const { statusCode, ...answer } = await agent.request({
      origin: target.url.origin,
      path: target.url.pathname + target.url.search,
      method: method as Dispatcher.HttpMethod,
      headers: { ...Object.fromEntries(headers), ...this.#own?.markHeaders },
      body,
      signal,
      ...(isLast ? { reset: true } : {}),
      responseHeaders: 'raw',
    })
    // Raw headers alternate names and values. The library's types do not say so.
    const raw = answer.headers as unknown as readonly string[]
    return { status: statusCode, headers: parseRawHeaders(raw), body: answer.body }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('Outgoing HTTP is closed'))
    await this.#agents[Symbol.asyncDispose]()
  }
}

/**
 * Creates the mask for one message. A mask is not kept: that of a thousand secrets takes fifty megabytes, and hundreds of requests may wait
 * for their answers. An owner's masks are created one after the other.
 */
function createMaskForOwner(secrets: readonly string[], owner: string): Promise<SecretMask> {
  return outgoingTimeSlices.begin(owner, createStrictMaskSteps(secrets))
}

function closingError(): NodeError {
  return new NodeError('The service is closing and sends no more requests.', 'unavailable')
}

function tooManyRedirectsError(host: string, redirects: number): NodeError {
  const text = `The request was redirected ${redirects} times, the last time by "${host}".`
  return new NodeError(`${text} Check the URL, or allow more with max_redirects.`, 'too_many_redirects')
}

async function discardBody({ body }: RawResponse, signal: AbortSignal): Promise<void> {
  let left = MAX_REDIRECT_BODY_BYTES
  for await (const piece of body) {
    signal.throwIfAborted()
    left -= (piece as Uint8Array).length
    if (left < 0) break
  }
}

async function toIncomingResponse(
  answer: RawResponse,
  hop: RequestHop,
  { max_bytes, onBytesHeld }: OutgoingRequest,
): Promise<IncomingResponse> {
  const { status, headers } = answer
  const empty = hop.method === 'HEAD' || status === 204 || status === 304
  const encodings = empty ? [] : parseContentEncodings(headers.get('content-encoding') ?? '')
  if (!empty && encodings.length === 0 && Number(headers.get('content-length')) > max_bytes) {
    answer.body.on('error', () => {}).destroy()
    throw responseTooLargeError(max_bytes)
  }
  const body = await readLimitedBody(answer.body, encodings, max_bytes, onBytesHeld)
  // These headers describe the body as it was sent, before decompression.
  if (encodings.length > 0) for (const name of ['content-encoding', 'content-length']) headers.delete(name)
  return { status, headers: Object.fromEntries(headers), body, url: hop.target.url.href }
}

/** Creates the guarded client. Disposing it closes its connections and ends all requests under way. */
export function createOutgoingHttpClient(options: OutgoingHttpClientOptions): OutgoingHttpClient {
  return new GuardedHttpClient(options)
}
