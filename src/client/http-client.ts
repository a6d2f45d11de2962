// Sends HTTP requests with the credential, repeats them where that is safe, and turns all errors into one class.
import createFetch, { type Client as FetchClient } from 'openapi-fetch'
import type { paths } from '../../generated/types.ts'
import { combineSignals, raceAbort, sleep } from './abortable-waits.ts'
import { backoffDelayMs, isRetryAfterTooLong, type ResolvedClientOptions } from './client-options.ts'
import { parseServiceError, readServiceError } from './error-response.ts'
import { invalidAnswerError, invalidArgumentError, networkError, ServiceError, timeoutError } from './errors.ts'
import type { PendingSubmission } from './jobs/pending-submission.ts'
import { isRecord, stringifyWithBase64 } from './json-and-uuid.ts'
import type { TokenSource } from './token-source.ts'

/** The typed client of every operation (openapi-fetch). It resolves with `{ data, error, response }` and throws only network errors. */
export type HttpClient = FetchClient<paths>

const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS']
/** POST operations that may be repeated. Submissions have an idempotency key, and a second cancellation has no effect. */
const SAFE_POST_PATHS =
  /\/api\/(?:sdk\/v1\/(?:preflight|workflow-interfaces|jobs|jobs\/[^/]+\/cancel)|jobs\/[^/]+\/cancel)$/
/** Node's error codes for a request that was not sent. */
const UNSENT_ERROR_CODES: readonly unknown[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']

export class RetryingHttp {
  readonly client: HttpClient
  readonly #settings: ResolvedClientOptions
  readonly #tokens: TokenSource
  readonly #closeSignal: AbortSignal

  constructor(settings: ResolvedClientOptions, tokens: TokenSource, closed: AbortSignal) {
    this.#settings = settings
    this.#tokens = tokens
    this.#closeSignal = closed
    this.client = createFetch<paths>({
      baseUrl: settings.url,
      fetch: (request) => raceAbort(this.send(request), closed),
      bodySerializer: (body: unknown) => (body instanceof FormData ? body : stringifyWithBase64(body)),
    })
  }

  /** Sends a request, and repeats it where that is safe. @throws ServiceError where no answer came */
  async send(request: Request, flight?: PendingSubmission): Promise<Response> {
    const { backoff, times } = this.#settings
    const safe = isSafeRequest(request)
    for (let attempt = 1; ; attempt++) {
      const last = attempt >= backoff.attempts || isUnrepeatable(request)
      let error: ServiceError
      try {
        const response = await this.sendAuthorized(request, flight)
        if (response.ok || last) return response
        error = await readServiceError(response.clone())
        // A rate limit refuses a request before it has any effect.
        if (!error.retryable || !(safe || error.status === 429)) return response
        if (isRetryAfterTooLong(error, times)) return response
      } catch (cause) {
        request.signal.throwIfAborted()
        if (!(cause instanceof ServiceError) || last || !(safe || wasNotSent(cause))) throw cause
        error = cause
      }
      await sleep(Math.max(error.retry_after_ms ?? 0, backoffDelayMs(backoff, attempt - 1)), request.signal)
    }
  }

  /** Sends a request with the credential. Where the server refuses the credential, sends it once more with a new one. */
  async sendAuthorized(request: Request, flight?: PendingSubmission): Promise<Response> {
    const { signal } = request
    const token = await this.#tokens.current(signal)
    const response = await this.#sendOnce(request, token, flight)
    if (response.status !== 401 || !this.#tokens.isRenewable || isUnrepeatable(request)) return response
    await response.body?.cancel()
    await raceAbort(this.#tokens.renew(token), signal)
    return this.#sendOnce(request, await this.#tokens.current(signal), flight)
  }

  async #sendOnce(request: Request, token: string | null, flight?: PendingSubmission): Promise<Response> {
    const copy = isUnrepeatable(request) ? request : request.clone()
    if (token !== null) copy.headers.set('Authorization', `Bearer ${token}`)
    try {
      flight?.markSent()
      // Node may collect the abort listener of a copied request (seen with Node 24), so the wait does not rely on it alone.
      const response = await raceAbort(this.#settings.fetch(copy), request.signal)
      if (!response.ok) flight?.markRefused()
      // A truncated answer counts as lost, as long as the request can be repeated.
      if (isReadWhole(response)) await raceAbort(response.clone().arrayBuffer(), request.signal)
      return response
    } catch (cause) {
      request.signal.throwIfAborted()
      const error = networkError('The server is unreachable, or the connection broke.', cause)
      if (wasNotSent(error)) flight?.markRefused()
      throw error
    }
  }

  /** Returns the data of an answer, within the time limit of a request. @throws ServiceError where the answer is an error */
  async fetchData<T>(ask: (signal: AbortSignal) => Promise<FetchResult>, signal?: AbortSignal): Promise<T> {
    const ms = this.#settings.times.request_ms
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(timeoutError('The request', ms)), ms)
    const { signal: either, done } = combineSignals(this.#closeSignal, signal, late.signal)
    try {
      return await readData(ask(either))
    } finally {
      clearTimeout(timer)
      done()
    }
  }
}

/** The answer as openapi-fetch returns it. */
export interface FetchResult {
  data?: unknown
  error?: unknown
  response: Response
}

/** @throws ServiceError where the answer is an error, or cannot be read */
async function readData<T>(answered: Promise<FetchResult>): Promise<T> {
  const { data, error, response } = await answered.catch((cause: unknown) => {
    if (cause instanceof URIError) throw invalidArgumentError('An id must be well-formed Unicode text.', cause)
    throw cause instanceof SyntaxError ? invalidAnswerError('The answer is not valid JSON.', cause) : cause
  })
  if (!response.ok) throw parseServiceError(response.status, asRecord(error), response.headers)
  if (!isRecord(data)) throw invalidAnswerError(`The answer ${response.status} is not a JSON object.`)
  return data as T
}

function asRecord(error: unknown): unknown {
  return isRecord(error) ? error : {}
}

/** Whether an answer is useful only as a whole, unlike a file or a stream of events. */
function isReadWhole({ ok, headers }: Response): boolean {
  return !ok || /^application\/(?:[\w.-]+\+)?json\b/i.test(headers.get('Content-Type') ?? 'application/json')
}

function isSafeRequest({ method, url }: Request): boolean {
  return SAFE_METHODS.includes(method) || (method === 'POST' && SAFE_POST_PATHS.test(new URL(url).pathname))
}

/** Whether the body is too large, or a stream, so that it cannot be kept for a second attempt. */
function isUnrepeatable({ headers }: Request): boolean {
  const type = headers.get('Content-Type') ?? ''
  return type !== '' && !type.startsWith('application/json')
}

function wasNotSent({ cause }: ServiceError): boolean {
  const reason = isRecord(cause) ? cause.cause : undefined
  return isRecord(reason) && UNSENT_ERROR_CODES.includes(reason.code)
}
