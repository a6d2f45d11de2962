// The one client for everything that is fetched on behalf of a caller. It follows redirects itself, judges each place that
// it goes to, and reads no more than it was asked for.
import type { Readable } from 'node:stream'
import type { Agent, Dispatcher } from 'undici'
import { NodeError } from '../engine/node-error.ts'
import type { IncomingResponse, OutgoingHttp, OutgoingRequest } from '../engine/services.ts'
import { Agents } from './agents.ts'
import { AllowList } from './allow.ts'
import { ENCODINGS, encodingsOf, readBody, tooLarge } from './answer-body.ts'
import { Connections } from './connections.ts'
import { failure, noConnection, timedOut } from './failures.ts'
import { guardedAgent } from './guarded-agent.ts'
import { checkedHeaders, type Headers, receivedHeaders } from './headers.ts'
import { type Mask, maskSteps } from './mask.ts'
import { type Lookup, nameLookup } from './name-lookup.ts'
import type { OwnRequests } from './own-requests.ts'
import { type Hop, locationOf, redirected } from './redirects.ts'
import { slices } from './slices.ts'
import { type Target, targetOf } from './target.ts'
import { TimeLimit } from './time-limit.ts'

export interface OutgoingHttpOptions {
  /** What may be reached beyond the public internet: entries of `SVC_HTTP_NODE_ALLOW`. */
  readonly allow: readonly string[]
  /** How names are looked up; by the hosts file and the system's name servers if absent. */
  readonly lookup?: Lookup
  /** Knows what is sent, in a process that serves as well. */
  readonly own?: OwnRequests | null
}

/** An answer whose body is still to come. */
interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Readable
}

/** A request on its way. */
interface Sending {
  readonly request: OutgoingRequest
  readonly owner: string
  readonly limit: TimeLimit
  /** Whether it waits for a connection. */
  isWaiting: boolean
}

const METHOD = /^(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)$/
const AGENT = 'workflow-execution-service'
/** What is read of a redirect's body, so that its connection can be used again. */
const REDIRECT_BODY_BYTES = 16_384

export interface OutgoingClient extends OutgoingHttp, AsyncDisposable {
  /** The client for one user: users share how many connections there are to an origin. Without it a request is nobody's, who is like one user. */
  of(owner: string): OutgoingHttp
}

const NOBODY = ''

class GuardedHttp implements OutgoingClient {
  readonly #allow: AllowList
  readonly #own: OwnRequests | null
  readonly #end = new AbortController()
  readonly #connections = new Connections()
  readonly #agents: Agents

  constructor({ allow, lookup = nameLookup(), own = null }: OutgoingHttpOptions) {
    this.#allow = new AllowList(allow)
    this.#own = own
    const opened = this.#connections.opened.bind(this.#connections)
    this.#agents = new Agents((end) => guardedAgent(this.#allow, lookup, end, own, opened))
  }

  send(request: OutgoingRequest): Promise<IncomingResponse> {
    return this.#send(request, NOBODY)
  }

  of(owner: string): OutgoingHttp {
    return { send: (request) => this.#send(request, owner) }
  }

  async #send(request: OutgoingRequest, owner: string): Promise<IncomingResponse> {
    request.signal.throwIfAborted()
    const first = await this.#firstHop(request, owner)
    using limit = new TimeLimit(request.signal, request.timeout_ms)
    return await this.#follow({ request, owner, limit, isWaiting: false }, first)
  }

  async #firstHop({ method, url, headers: given, body, secrets }: OutgoingRequest, owner: string): Promise<Hop> {
    const mask = await maskFor(secrets, owner)
    if (!METHOD.test(method)) throw new NodeError(`Requests are not sent with the method "${method}".`, 'bad_header')
    const headers = checkedHeaders(given)
    const target = targetOf(url, null, this.#allow, mask)
    if (target.authorization !== null) {
      if (headers.has('authorization')) {
        throw new NodeError('Give either an Authorization header or credentials in the URL, not both.', 'bad_header')
      }
      headers.set('authorization', target.authorization)
    }
    const ours: [string, string][] = [
      ['accept', '*/*'],
      ['accept-encoding', ENCODINGS],
      ['user-agent', AGENT],
    ]
    return { method, target, headers: new Map([...ours, ...headers]), body }
  }

  async #follow(sending: Sending, first: Hop): Promise<IncomingResponse> {
    const { request, limit } = sending
    let hop = first
    try {
      for (let redirects = 0; ; redirects++) {
        // The library itself heeds the signal only once it is connected.
        const answer = await limit.race(this.#exchange(hop, sending))
        const location = request.max_redirects > 0 ? locationOf(answer.status, answer.headers) : null
        if (location === null) return await received(answer, hop, request)
        await discard(answer, limit.signal)
        if (redirects === request.max_redirects) throw tooManyRedirects(hop.target.shown, redirects)
        hop = await this.#nextHop(hop, answer.status, location, sending)
      }
    } catch (error) {
      throw await this.#told(error, sending, hop.target)
    }
  }

  async #nextHop(hop: Hop, status: number, location: string, { request, owner }: Sending): Promise<Hop> {
    const target = targetOf(location, hop.target.url, this.#allow, await maskFor(request.secrets, owner))
    return await slices.begin(owner, redirected(hop, status, target, request))
  }

  /** What the caller is told: why it gave up itself, that the time is over, or what went wrong. */
  async #told(error: unknown, { request, owner, limit, isWaiting }: Sending, target: Target): Promise<unknown> {
    if (request.signal.aborted) return request.signal.reason
    if (limit.over) return (isWaiting ? noConnection : timedOut)(target.shown, request.timeout_ms)
    if (this.#end.signal.aborted) return closing()
    return failure(error, target, await maskFor(request.secrets, owner))
  }

  /** Has a connection until the body of the answer closes: whoever gets an answer reads its body to the end, or destroys it. */
  async #exchange(hop: Hop, sending: Sending): Promise<Answer> {
    const { owner, limit } = sending
    const { origin } = hop.target.url
    sending.isWaiting = true
    const giveBack = await this.#connections.take(origin, owner, limit.signal)
    sending.isWaiting = false
    const isFull = this.#connections.isFull(origin)
    if (isFull) await this.#agents.endUnused()
    if (this.#end.signal.aborted) {
      giveBack()
      throw closing()
    }
    const { agent, release } = this.#agents.take(owner)
    const over = () => {
      release()
      giveBack()
    }
    try {
      const answer = await this.#ask(await agent, hop, limit.signal, isFull)
      if (answer.body.closed) over()
      else answer.body.once('close', over)
      return answer
    } catch (error) {
      over()
      throw error
    }
  }

  /** `isLast`: its connection is not kept for another request. */
  async #ask(
    agent: Agent,
    { method, target, headers, body }: Hop,
    signal: AbortSignal,
    isLast: boolean,
  ): Promise<Answer> {
    if (this.#end.signal.aborted) throw closing()
    const { statusCode, ...answer } = await agent.request({
      origin: target.url.origin,
      path: target.url.pathname + target.url.search,
      method: method as Dispatcher.HttpMethod,
      headers: { ...Object.fromEntries(headers), ...this.#own?.header },
      body,
      signal,
      ...(isLast ? { reset: true } : {}),
      responseHeaders: 'raw',
    })
    // Raw headers are names and values in turn, which the library's types do not tell.
    const raw = answer.headers as unknown as readonly string[]
    return { status: statusCode, headers: receivedHeaders(raw), body: answer.body }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new Error('Outgoing HTTP is closed'))
    await this.#agents[Symbol.asyncDispose]()
  }
}

/**
 * The mask for one message. It is made anew for each: that of a thousand secrets takes fifty megabytes, and hundreds of requests may wait for their answers.
 * An owner's masks are made one after the other.
 */
function maskFor(secrets: readonly string[], owner: string): Promise<Mask> {
  return slices.begin(owner, maskSteps(secrets))
}

function closing(): NodeError {
  return new NodeError('The service is closing and sends no more requests.', 'unavailable')
}

function tooManyRedirects(host: string, redirects: number): NodeError {
  const text = `The request was sent on ${redirects} times, the last time by "${host}", without an end.`
  return new NodeError(`${text} Check the URL, or allow more with max_redirects.`, 'too_many_redirects')
}

async function discard({ body }: Answer, signal: AbortSignal): Promise<void> {
  let left = REDIRECT_BODY_BYTES
  for await (const piece of body) {
    signal.throwIfAborted()
    left -= (piece as Uint8Array).length
    if (left < 0) break
  }
}

async function received(answer: Answer, hop: Hop, { max_bytes, held }: OutgoingRequest): Promise<IncomingResponse> {
  const { status, headers } = answer
  const empty = hop.method === 'HEAD' || status === 204 || status === 304
  const encodings = empty ? [] : encodingsOf(headers.get('content-encoding') ?? '')
  if (!empty && encodings.length === 0 && Number(headers.get('content-length')) > max_bytes) {
    answer.body.on('error', () => {}).destroy()
    throw tooLarge(max_bytes)
  }
  const body = await readBody(answer.body, encodings, max_bytes, held)
  // They say how the body was sent, not what it is now.
  if (encodings.length > 0) for (const name of ['content-encoding', 'content-length']) headers.delete(name)
  return { status, headers: Object.fromEntries(headers), body, url: hop.target.url.href }
}

/** The guarded client. It holds its connections until it is disposed, which ends what is under way. */
export function createOutgoingHttp(options: OutgoingHttpOptions): OutgoingClient {
  return new GuardedHttp(options)
}
