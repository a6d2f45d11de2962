// Requests: with the credential, sent again where that is safe, and errors of one kind.
import createFetch, { type Client as FetchClient } from 'openapi-fetch'
import type { paths } from '../../generated/types.ts'
import { errorOfBody, errorOfResponse } from './error-answer.ts'
import { argumentError, invalidAnswer, networkError, ServiceError, timeoutError } from './errors.ts'
import type { Flight } from './flight.ts'
import { asksTooLong, delayAfter, type Settings } from './settings.ts'
import type { Tokens } from './tokens.ts'
import { isRecord, jsonText } from './values.ts'
import { anyOf, sleep, unlessAborted } from './waiting.ts'

/** The typed client of every operation (openapi-fetch). It answers `{ data, error, response }` and throws only what the network does. */
export type HttpClient = FetchClient<paths>

const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS']
/** Operations without an effect, or with one that does not grow: submissions have an idempotency key, a job is cancelled once. */
const SAFE_POSTS = /\/api\/(?:sdk\/v1\/(?:preflight|workflow-interfaces|jobs|jobs\/[^/]+\/cancel)|jobs\/[^/]+\/cancel)$/
/** What Node says of a request that never left. */
const UNSENT: readonly unknown[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']

export class Http {
  readonly client: HttpClient
  readonly #settings: Settings
  readonly #tokens: Tokens
  readonly #closed: AbortSignal

  constructor(settings: Settings, tokens: Tokens, closed: AbortSignal) {
    this.#settings = settings
    this.#tokens = tokens
    this.#closed = closed
    this.client = createFetch<paths>({
      baseUrl: settings.url,
      fetch: (request) => unlessAborted(this.send(request), closed),
      bodySerializer: (body: unknown) => (body instanceof FormData ? body : jsonText(body)),
    })
  }

  /** Sends a request, more than once where that is safe. @throws ServiceError where no answer came */
  async send(request: Request, flight?: Flight): Promise<Response> {
    const { backoff, times } = this.#settings
    const safe = isSafe(request)
    for (let attempt = 1; ; attempt++) {
      const last = attempt >= backoff.attempts || isOneWay(request)
      let error: ServiceError
      try {
        const response = await this.authorized(request, flight)
        if (response.ok || last) return response
        error = await errorOfResponse(response.clone())
        // A refusal by a limit is one before anything was done.
        if (!error.retryable || !(safe || error.status === 429)) return response
        if (asksTooLong(error, times)) return response
      } catch (cause) {
        request.signal.throwIfAborted()
        if (!(cause instanceof ServiceError) || last || !(safe || wasNotSent(cause))) throw cause
        error = cause
      }
      await sleep(Math.max(error.retry_after_ms ?? 0, delayAfter(backoff, attempt - 1)), request.signal)
    }
  }

  /** Sends a request with the credential, and once more with a new one where it is refused. */
  async authorized(request: Request, flight?: Flight): Promise<Response> {
    const { signal } = request
    const token = await this.#tokens.current(signal)
    const response = await this.#once(request, token, flight)
    if (response.status !== 401 || !this.#tokens.renewable || isOneWay(request)) return response
    await response.body?.cancel()
    await unlessAborted(this.#tokens.renew(token), signal)
    return this.#once(request, await this.#tokens.current(signal), flight)
  }

  async #once(request: Request, token: string | null, flight?: Flight): Promise<Response> {
    const copy = isOneWay(request) ? request : request.clone()
    if (token !== null) copy.headers.set('Authorization', `Bearer ${token}`)
    try {
      flight?.sent()
      // Of a copied request Node may collect what hands on the abort (seen with Node 24), so nobody waits for that alone.
      const response = await unlessAborted(this.#settings.fetch(copy), request.signal)
      if (!response.ok) flight?.refused()
      // An answer that breaks off half-way is none: it counts as lost, as long as the request can be sent again.
      if (isWhole(response)) await unlessAborted(response.clone().arrayBuffer(), request.signal)
      return response
    } catch (cause) {
      request.signal.throwIfAborted()
      const error = networkError('The server could not be reached, or the connection broke.', cause)
      if (wasNotSent(error)) flight?.refused()
      throw error
    }
  }

  /**
   * The data of an answer, within the time that a request has.
   * @throws ServiceError where it is an error
   */
  async data<T>(ask: (signal: AbortSignal) => Promise<Answered>, signal?: AbortSignal): Promise<T> {
    const ms = this.#settings.times.request_ms
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(timeoutError('The request', ms)), ms)
    const { signal: either, done } = anyOf(this.#closed, signal, late.signal)
    try {
      return await dataOf(ask(either))
    } finally {
      clearTimeout(timer)
      done()
    }
  }
}

/** What openapi-fetch answers. */
export interface Answered {
  data?: unknown
  error?: unknown
  response: Response
}

/** @throws ServiceError where the answer is an error, or none that can be read */
async function dataOf<T>(answered: Promise<Answered>): Promise<T> {
  const { data, error, response } = await answered.catch((cause: unknown) => {
    if (cause instanceof URIError) throw argumentError('An id cannot be sent: it is no text.', cause)
    throw cause instanceof SyntaxError ? invalidAnswer('The answer is no JSON.', cause) : cause
  })
  if (!response.ok) throw errorOfBody(response.status, parsed(error), response.headers)
  if (!isRecord(data)) throw invalidAnswer(`The answer ${response.status} is no JSON object.`)
  return data as T
}

function parsed(error: unknown): unknown {
  return isRecord(error) ? error : {}
}

/** Whether an answer is of use only when all of it is there, unlike a file or a stream of events. */
function isWhole({ ok, headers }: Response): boolean {
  return !ok || /^application\/(?:[\w.-]+\+)?json\b/i.test(headers.get('Content-Type') ?? 'application/json')
}

function isSafe({ method, url }: Request): boolean {
  return SAFE_METHODS.includes(method) || (method === 'POST' && SAFE_POSTS.test(new URL(url).pathname))
}

/** Whether the body is too large, or too alive, to be kept for a second attempt. */
function isOneWay({ headers }: Request): boolean {
  const type = headers.get('Content-Type') ?? ''
  return type !== '' && !type.startsWith('application/json')
}

function wasNotSent({ cause }: ServiceError): boolean {
  const reason = isRecord(cause) ? cause.cause : undefined
  return isRecord(reason) && UNSENT.includes(reason.code)
}
