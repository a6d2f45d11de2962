// The HTTP client of the tested server. It sends requests unchanged, and keeps every exchange for the checks of all answers.
import { type IncomingHttpHeaders, type IncomingMessage, Agent as PlainAgent } from 'node:http'
import { Agent as SecureAgent } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { isNestedTooDeep } from '../nesting-limit.ts'
import { ServerUnreachableError, SuiteStoppedError } from './check-outcomes.ts'
import { exchangeHttp, readAllBytes } from './http-exchange.ts'
import { readServerSentEvents, type ServerSentEvent } from './server-sent-events.ts'

export interface SuiteRequest {
  /** The body as JSON. */
  json?: unknown
  /** The body as bytes. */
  raw?: string | Uint8Array
  content_type?: string
  headers?: Readonly<Record<string, string>>
  /** Sends no credential. */
  anonymous?: boolean
}

export interface SuiteAnswer {
  method: string
  path: string
  sent: { headers: Record<string, string>; body?: unknown }
  status: number
  headers: IncomingHttpHeaders
  text: string
  /** The bytes of a binary body. */
  bytes: Buffer
  /** The parsed JSON body. Undefined for another content type, invalid JSON, or JSON that is nested too deep. */
  body: unknown
}

/** The longest delay of a rate limit in seconds, and the most delays in a row. */
const MAX_RETRY_AFTER_SECONDS = 120
const MAX_RATE_LIMIT_WAITS = 3
/** The most bytes of all answers and frames, which are kept until the end. Each counts a few hundred bytes more than its size. */
const MAX_KEPT_BYTES = 128 * 1024 * 1024
const OVERHEAD_BYTES = 200
/** A stream of events lasts as long as its job, and the suite may wait for a job several times. */
const STREAM_TIMEOUT_FACTOR = 4

/** How the suite calls the server, and when it stops. */
export interface TargetServerOptions {
  url: string
  token: string | null
  /** The time limit of a complete answer. */
  timeout_ms: number
  stop: AbortSignal
}

export class TargetServer implements Disposable {
  readonly url: URL
  readonly token: string | null
  readonly timeout_ms: number
  /** Ends all exchanges, and prevents new ones. */
  stop: AbortSignal
  /** All exchanges, in order. */
  readonly answers: SuiteAnswer[] = []
  readonly #agent: PlainAgent
  #wasReached = false
  #kept_bytes = 0
  /** Whether waiting for a rate limit has helped so far. */
  #waitsForRateLimits = true
  #serial = 0

  constructor({ url, token, timeout_ms, stop }: TargetServerOptions) {
    this.url = new URL(url)
    this.token = token
    this.timeout_ms = timeout_ms
    this.stop = stop
    this.#agent =
      this.url.protocol === 'https:' ? new SecureAgent({ keepAlive: true }) : new PlainAgent({ keepAlive: true })
  }

  /** Sends one request, and returns the complete answer. Where the server asks for a delay, sends the request again after it. */
  async send(method: string, path: string, asked: SuiteRequest = {}): Promise<SuiteAnswer> {
    for (let times = 0; ; times++) {
      const answer = await this.#sendOnce(method, path, asked)
      const wait = Number(answer.headers['retry-after'])
      if (answer.status !== 429 || !(wait >= 0 && wait <= MAX_RETRY_AFTER_SECONDS) || !this.#waitsForRateLimits)
        return answer
      // A server that refuses even then would delay every other request as well.
      if (times === MAX_RATE_LIMIT_WAITS) {
        this.#waitsForRateLimits = false
        return answer
      }
      await sleep(wait * 1_000, null, { signal: this.stop })
    }
  }

  async #sendOnce(method: string, path: string, asked: SuiteRequest): Promise<SuiteAnswer> {
    const { headers, payload } = this.#compose(asked)
    const answer = await this.#exchange(method, path, headers, payload, this.timeout_ms, async (incoming) =>
      createAnswer(method, path, headers, asked, incoming, await readAllBytes(incoming)),
    )
    this.countKeptBytes(answer.bytes.byteLength)
    this.answers.push(answer)
    return answer
  }

  /** Counts kept bytes. @throws where they are too many */
  countKeptBytes(bytes: number): void {
    this.#kept_bytes += bytes + OVERHEAD_BYTES
    if (this.#kept_bytes > MAX_KEPT_BYTES)
      throw new Error(`answers and frames of more than ${MAX_KEPT_BYTES} bytes together`)
  }

  /** Releases the kept answers, so that there is room for the answers of the removal. */
  clearKept(): void {
    this.answers.length = 0
    this.#kept_bytes = 0
  }

  /** Follows server-sent events until the stream ends or `enough` returns true. */
  async readEvents(
    path: string,
    headers: Readonly<Record<string, string>>,
    enough: (event: ServerSentEvent) => boolean = () => false,
  ): Promise<{ status: number; content_type: string; events: ServerSentEvent[] }> {
    const { headers: all } = this.#compose({ headers: { Accept: 'text/event-stream', ...headers } })
    return this.#exchange('GET', path, all, null, this.timeout_ms * STREAM_TIMEOUT_FACTOR, async (incoming) => {
      const events: ServerSentEvent[] = []
      for await (const event of readServerSentEvents(incoming)) {
        this.countKeptBytes(event.data.length)
        events.push(event)
        if (enough(event)) break
      }
      return { status: incoming.statusCode ?? 0, content_type: incoming.headers['content-type'] ?? '', events }
    })
  }

  #compose({ json, raw, content_type, headers, anonymous }: SuiteRequest) {
    const payload = raw ?? (json === undefined ? null : JSON.stringify(json))
    const all: Record<string, string> = { 'X-Request-Id': `conformance-${++this.#serial}` }
    if (payload !== null) {
      all['Content-Type'] = content_type ?? 'application/json'
      all['Content-Length'] = String(Buffer.byteLength(payload))
    }
    if (this.token !== null && !anonymous) all.Authorization = `Bearer ${this.token}`
    return { headers: { ...all, ...headers }, payload }
  }

  async #exchange<Read>(
    method: string,
    path: string,
    headers: Record<string, string>,
    payload: string | Uint8Array | null,
    ms: number,
    read: (incoming: IncomingMessage) => Promise<Read>,
  ): Promise<Read> {
    this.countKeptBytes(0)
    const { hostname, port, protocol } = this.url
    const host = hostname.replace(/^\[|\]$/g, '')
    const where = { secure: protocol === 'https:', host, port, path: this.#path(path), agent: this.#agent }
    try {
      return await exchangeHttp({ ...where, method, headers, payload }, { ms, stop: this.stop }, (incoming) => {
        this.#wasReached = true
        return read(incoming)
      })
    } catch (error) {
      if (this.#wasReached || error instanceof SuiteStoppedError) throw error
      throw new ServerUnreachableError((error as Error).message)
    }
  }

  /** Prepends the base path of the URL. */
  #path(path: string): string {
    return this.url.pathname.replace(/\/$/, '') + path
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}

function createAnswer(
  method: string,
  path: string,
  headers: Record<string, string>,
  { json, raw }: SuiteRequest,
  incoming: IncomingMessage,
  bytes: Buffer,
): SuiteAnswer {
  const text = bytes.toString()
  const { Authorization: _, ...shown } = headers
  const body = typeof raw === 'string' ? raw : raw === undefined ? json : `${raw.byteLength} bytes`
  const sent = body === undefined ? { headers: shown } : { headers: shown, body }
  return {
    method,
    path,
    sent,
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    text,
    bytes,
    body: isJsonAnswer(incoming.headers) ? parseJson(text) : undefined,
  }
}

export function isJsonAnswer(headers: IncomingHttpHeaders): boolean {
  return /^application\/(json|[\w.-]+\+json)\s*(;|$)/i.test(headers['content-type'] ?? '')
}

function parseJson(text: string): unknown {
  try {
    const value = JSON.parse(text)
    return isNestedTooDeep(value) ? undefined : value
  } catch {
    return undefined
  }
}

/** Returns the server's time of an answer in milliseconds. Null where the answer has none. */
export function readServerTime({ headers }: SuiteAnswer): number | null {
  const time = Date.parse(headers.date ?? '')
  return Number.isNaN(time) ? null : time
}

/** Returns the answer as evidence, shortened for a reader. */
export function toEvidenceParts(answer: SuiteAnswer): { request: unknown; answer: unknown } {
  const { method, path, sent, status, headers, body, text } = answer
  const kept = Object.fromEntries(
    ['content-type', 'x-request-id', 'location', 'etag', 'allow', 'retry-after'].flatMap((name) =>
      headers[name] === undefined ? [] : [[name, headers[name]]],
    ),
  )
  return { request: { method, path, ...sent }, answer: { status, headers: kept, body: body ?? text.slice(0, 2_000) } }
}
