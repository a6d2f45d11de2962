// The one client for servers of models. Operators name them, so that private addresses are allowed; where they send requests on to is not
// followed. Connections are kept, for as many answers at once as anybody asks for.
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
  /** With its query. */
  readonly path: string
  /** Names in small letters. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** Ends the call wherever it is. */
  readonly signal: AbortSignal
  /** Whether it is repeated after a while where that may help, and costs nothing twice. Absent: it is. */
  readonly shouldRetry?: boolean
}

/** In milliseconds. */
export interface UpstreamTimeouts {
  /** Until there is a connection. */
  readonly connect_ms: number
  /** Until the head of an answer has come: an answer that is not streamed takes as long as the model thinks. */
  readonly head_ms: number
  /** Between two pieces of a body, and before the first. */
  readonly idle_timeout_ms: number
  /** Before a request is repeated, about; each time longer. */
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
/** A server that wants to be left alone for longer is not asked again: whoever asked is told when to. */
const MAX_RETRY_DELAY_MS = 2_000
const KEEP_ALIVE_TIMEOUT_MS = 15_000
const MAX_HEAD_BYTES = 65_536
const MAX_CONNECTIONS = 4_096
const USER_AGENT = 'workflow-execution-service'

/** What is over soon: it timed out, it is asked too much, it is being started, its gateway missed it. */
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504, 529])
/** With these a server says that it has not begun. After the others a call may have to be paid for: twice, if it were repeated. */
const UNBILLED_STATUSES: ReadonlySet<number> = new Set([429, 503, 529])

export class UpstreamClient implements AsyncDisposable {
  readonly #timeouts: UpstreamTimeouts
  readonly #own: OwnRequestDetector | null
  readonly #pools = new Map<string, Pool>()
  /** In which all answers are read. */
  readonly #timeSlices = new TimeSliceScheduler()
  #undici: Promise<typeof import('undici')> | null = null
  #isClosed = false

  /** `own` knows the connections, in a process that serves as well. */
  constructor(times: Partial<UpstreamTimeouts> = {}, own: OwnRequestDetector | null = null) {
    this.#timeouts = { ...DEFAULT_TIMEOUTS, ...times }
    this.#own = own
  }

  /**
   * Asks, and asks again where nothing was answered or what is wrong may pass. The answer's head has come, whatever its status.
   * @throws UpstreamFailure; the signal's reason
   */
  async send(call: UpstreamRequest): Promise<UpstreamResponse> {
    const { signal, method, shouldRetry = true } = call
    // A connection that was kept may have been closed at its other end meanwhile: that is found out once for all.
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

  /** How long to wait before the next try; null: what came is the answer. */
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
    // The library takes a Uint8Array, but looks long at it.
    const bytes =
      typeof body === 'string' || body === undefined
        ? (body ?? null)
        : Buffer.from(body.buffer, body.byteOffset, body.length)
    pool.dispatch({ method, path, headers: { 'user-agent': USER_AGENT, ...headers }, body: bytes }, exchange)
    return exchange.response
  }

  /** Not before the first request: reading the library takes longer than the rest of the server's start. */
  async #openPool(origin: string): Promise<Pool> {
    this.#undici ??= import('undici')
    const { Pool, buildConnector } = await this.#undici
    if (this.#isClosed) throw new UpstreamFailure('closed', 'is not asked any more: the service is closing')
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

  /** Breaks off what is under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    const pools = [...this.#pools.values()]
    this.#pools.clear()
    await Promise.all(
      pools.map((pool) => pool.destroy(new UpstreamFailure('closed', 'was left: the service is closing'))),
    )
  }
}

function isTransientFailure(error: unknown, { method, shouldRetry = true }: UpstreamRequest): error is UpstreamFailure {
  if (!(error instanceof UpstreamFailure)) return false
  if (error.fault === 'refused') return shouldRetry
  return error.fault === 'reset' && (method === 'GET' || error.isUnprocessed)
}

/** RFC 9110 §10.2.3: seconds, or a date. `retry-after-ms` is what some servers send besides. Null where neither is understood. */
export function parseRetryAfterMs({ header }: Pick<UpstreamResponse, 'header'>): number | null {
  const exact = header('retry-after-ms')
  if (exact !== null && /^\d{1,9}(\.\d+)?$/.test(exact)) return Number(exact)
  const given = header('retry-after')
  if (given === null) return null
  if (/^\d{1,9}(\.\d+)?$/.test(given)) return Number(given) * 1_000
  const date = Date.parse(given)
  return Number.isNaN(date) ? null : Math.max(0, date - Date.now())
}
