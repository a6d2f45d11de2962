// The HTTP client for model servers. Operators name these servers, so private addresses are allowed, and redirects are not followed.
// Connections are kept, as many as there are answers at once.
import { setTimeout } from 'node:timers/promises'
import type { Pool } from 'undici'
import { TimeSliceScheduler } from '../../shared/time-slices.ts'
import type { OwnRequestDetector } from '../own-request-detector.ts'
import { UpstreamExchange, type UpstreamResponse } from './exchange.ts'
import { UpstreamFailure } from './failure.ts'
import { trackReadBytes } from './read-tracking-connector.ts'

export interface UpstreamRequest {
  readonly method: 'GET' | 'POST'
  /** `https://api.openai.com` */
  readonly origin: string
  /** The path with its query. */
  readonly path: string
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** Ends the call at any stage. */
  readonly signal: AbortSignal
  /** Whether a failed request is repeated, where that may help and cannot cost twice. Absent: it is. */
  readonly shouldRetry?: boolean
}

/** All times are milliseconds. */
export interface UpstreamTimeouts {
  /** The limit for the connection. */
  readonly connect_ms: number
  /** The limit for the head of the answer. An answer that is not streamed takes as long as the model does. */
  readonly head_ms: number
  /** The limit for the first chunk of a body, and between two chunks. */
  readonly idle_timeout_ms: number
  /** The approximate delay before the first repeat. Each further delay is longer. */
  readonly retry_delay_ms: number
}

const DEFAULT_TIMEOUTS: UpstreamTimeouts = {
  connect_ms: 10_000,
  head_ms: 300_000,
  idle_timeout_ms: 120_000,
  retry_delay_ms: 150,
}
const MAX_RETRIES = 2
const BACKOFF_FACTOR = 3
/** A request is not repeated where a server asks for a longer delay. The caller gets that delay instead. */
const MAX_RETRY_DELAY_MS = 2_000
const KEEP_ALIVE_TIMEOUT_MS = 15_000
const MAX_HEAD_BYTES = 65_536
const MAX_CONNECTIONS = 4_096
const USER_AGENT = 'workflow-execution-service'

/** Statuses of passing problems: a timeout, too many requests, a starting server, a failing gateway. */
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504, 529])
/** With these statuses a server has not begun the request. A repeat after another status might be billed twice. */
const UNBILLED_STATUSES: ReadonlySet<number> = new Set([429, 503, 529])

export class UpstreamClient implements AsyncDisposable {
  readonly #timeouts: UpstreamTimeouts
  readonly #own: OwnRequestDetector | null
  readonly #pools = new Map<string, Pool>()
  /** All answers are read in these slices. */
  readonly #timeSlices = new TimeSliceScheduler()
  #undici: Promise<typeof import('undici')> | null = null
  #isClosed = false

  /** `own` registers the connections, where the process is also a server. */
  constructor(times: Partial<UpstreamTimeouts> = {}, own: OwnRequestDetector | null = null) {
    this.#timeouts = { ...DEFAULT_TIMEOUTS, ...times }
    this.#own = own
  }

  /**
   * Sends the request, and repeats it where no answer came or the problem may
   * pass. Resolves with the head of the answer, whatever its status.
   * @throws UpstreamFailure; the signal's reason
   */
  async send(call: UpstreamRequest): Promise<UpstreamResponse> {
    const { signal, method, shouldRetry = true } = call
    // The server may have closed an idle connection meanwhile. One retry finds out.
    const retries = shouldRetry ? MAX_RETRIES : 1
    for (let tries = 0; ; tries++) {
      signal.throwIfAborted()
      const outcome = await this.#exchange(call).catch((error: unknown) => {
        if (tries < retries && !signal.aborted && isTransientFailure(error, call)) return error
        throw error
      })
      const pause = tries < retries ? this.#retryDelayAfter(outcome, tries, method) : null
      if (pause === null || (pause > 0 && !shouldRetry)) return outcome as UpstreamResponse
      if (!(outcome instanceof UpstreamFailure)) outcome.body.destroy()
      if (pause > 0) await setTimeout(pause, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }

  /** Returns the delay before the next attempt. Null: the answer counts. */
  #retryDelayAfter(
    outcome: UpstreamResponse | UpstreamFailure,
    tries: number,
    method: UpstreamRequest['method'],
  ): number | null {
    const pause = this.#timeouts.retry_delay_ms * BACKOFF_FACTOR ** tries * (0.5 + Math.random())
    if (outcome instanceof UpstreamFailure) return outcome.fault === 'reset' && tries === 0 ? 0 : pause
    if (!(method === 'GET' ? TRANSIENT_STATUSES : UNBILLED_STATUSES).has(outcome.status)) return null
    const wanted = parseRetryAfterMs(outcome)
    if (wanted === null) return pause
    return wanted <= MAX_RETRY_DELAY_MS ? Math.max(wanted, pause) : null
  }

  async #exchange({ method, origin, path, headers, body, signal }: UpstreamRequest): Promise<UpstreamResponse> {
    const pool = this.#pools.get(origin) ?? (await this.#openPool(origin))
    signal.throwIfAborted()
    const exchange = new UpstreamExchange(signal, this.#timeSlices)
    // The library accepts a Uint8Array, but takes long to check it.
    const bytes =
      typeof body === 'string' || body === undefined
        ? (body ?? null)
        : Buffer.from(body.buffer, body.byteOffset, body.length)
    pool.dispatch({ method, path, headers: { 'user-agent': USER_AGENT, ...headers }, body: bytes }, exchange)
    return exchange.response
  }

  /** The library loads with the first request: loading it takes longer than the rest of the server's start. */
  async #openPool(origin: string): Promise<Pool> {
    this.#undici ??= import('undici')
    const { Pool, buildConnector } = await this.#undici
    if (this.#isClosed) throw new UpstreamFailure('closed', 'gets no more requests: the service is closing')
    const known = this.#pools.get(origin)
    if (known) return known
    const { connect_ms, head_ms, idle_timeout_ms } = this.#timeouts
    const connector = trackReadBytes(buildConnector({ timeout: connect_ms, allowH2: false }))
    const pool = new Pool(origin, {
      connections: MAX_CONNECTIONS,
      allowH2: false,
      connect: this.#own?.trackConnector(connector) ?? connector,
      headersTimeout: head_ms,
      bodyTimeout: idle_timeout_ms,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      maxHeaderSize: MAX_HEAD_BYTES,
    })
    this.#pools.set(origin, pool)
    return pool
  }

  /** Aborts all requests under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    const pools = [...this.#pools.values()]
    this.#pools.clear()
    await Promise.all(
      pools.map((pool) => pool.destroy(new UpstreamFailure('closed', 'was disconnected: the service is closing'))),
    )
  }
}

function isTransientFailure(error: unknown, { method, shouldRetry = true }: UpstreamRequest): error is UpstreamFailure {
  if (!(error instanceof UpstreamFailure)) return false
  if (error.fault === 'refused') return shouldRetry
  return error.fault === 'reset' && (method === 'GET' || error.isUnprocessed)
}

/**
 * Parses `Retry-After` (RFC 9110 §10.2.3: seconds, or a date) or `retry-after-ms`, which some servers send. Null where neither is valid.
 */
export function parseRetryAfterMs({ header }: Pick<UpstreamResponse, 'header'>): number | null {
  const exact = header('retry-after-ms')
  if (exact !== null && /^\d{1,9}(\.\d+)?$/.test(exact)) return Number(exact)
  const given = header('retry-after')
  if (given === null) return null
  if (/^\d{1,9}(\.\d+)?$/.test(given)) return Number(given) * 1_000
  const date = Date.parse(given)
  return Number.isNaN(date) ? null : Math.max(0, date - Date.now())
}
