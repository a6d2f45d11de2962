// The one client for servers of models. Operators name them, so that private addresses are allowed; where they send requests on to is not
// followed. Connections are kept, for as many answers at once as anybody asks for.
import { setTimeout } from 'node:timers/promises'
import type { Pool } from 'undici'
import { TimeSlices } from '../time-slices.ts'
import type { OwnRequests } from './own-requests.ts'
import { Exchange, type UpstreamReply } from './upstream-exchange.ts'
import { UpstreamFailure } from './upstream-failure.ts'
import { watched } from './upstream-sockets.ts'

export interface UpstreamCall {
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
  readonly patient?: boolean
}

/** In milliseconds. */
export interface UpstreamTimes {
  /** Until there is a connection. */
  readonly connect_ms: number
  /** Until the head of an answer has come: an answer that is not streamed takes as long as the model thinks. */
  readonly head_ms: number
  /** Between two pieces of a body, and before the first. */
  readonly silence_ms: number
  /** Before a request is repeated, about; each time longer. */
  readonly pause_ms: number
}

const TIMES: UpstreamTimes = { connect_ms: 10_000, head_ms: 300_000, silence_ms: 120_000, pause_ms: 150 }
const RETRIES = 2
const LONGER = 3
/** A server that wants to be left alone for longer is not asked again: whoever asked is told when to. */
const LONGEST_PAUSE_MS = 2_000
const KEEP_ALIVE_MS = 15_000
const MOST_HEAD_BYTES = 65_536
const MOST_CONNECTIONS = 4_096
const AGENT = 'workflow-execution-service'

/** What is over soon: it timed out, it is asked too much, it is being started, its gateway missed it. */
const PASSING: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504, 529])
/** With these a server says that it has not begun. After the others a call may have to be paid for: twice, if it were repeated. */
const UNPAID: ReadonlySet<number> = new Set([429, 503, 529])

export class UpstreamClient implements AsyncDisposable {
  readonly #times: UpstreamTimes
  readonly #own: OwnRequests | null
  readonly #pools = new Map<string, Pool>()
  /** In which all answers are read. */
  readonly #turns = new TimeSlices()
  #library: Promise<typeof import('undici')> | null = null
  #closed = false

  /** `own` knows the connections, in a process that serves as well. */
  constructor(times: Partial<UpstreamTimes> = {}, own: OwnRequests | null = null) {
    this.#times = { ...TIMES, ...times }
    this.#own = own
  }

  /**
   * Asks, and asks again where nothing was answered or what is wrong may pass. The answer's head has come, whatever its status.
   * @throws UpstreamFailure; the signal's reason
   */
  async send(call: UpstreamCall): Promise<UpstreamReply> {
    const { signal, method, patient = true } = call
    // A connection that was kept may have been closed at its other end meanwhile: that is found out once for all.
    const retries = patient ? RETRIES : 1
    for (let tries = 0; ; tries++) {
      signal.throwIfAborted()
      const outcome = await this.#exchange(call).catch((error: unknown) => {
        if (tries < retries && !signal.aborted && isPassing(error, call)) return error
        throw error
      })
      const pause = tries < retries ? this.#pauseAfter(outcome, tries, method) : null
      if (pause === null || (pause > 0 && !patient)) return outcome as UpstreamReply
      if (!(outcome instanceof UpstreamFailure)) outcome.body.destroy()
      if (pause > 0) await setTimeout(pause, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }

  /** How long to wait before the next try; null: what came is the answer. */
  #pauseAfter(outcome: UpstreamReply | UpstreamFailure, tries: number, method: UpstreamCall['method']): number | null {
    const pause = this.#times.pause_ms * LONGER ** tries * (0.5 + Math.random())
    if (outcome instanceof UpstreamFailure) return outcome.fault === 'reset' && tries === 0 ? 0 : pause
    if (!(method === 'GET' ? PASSING : UNPAID).has(outcome.status)) return null
    const wanted = retryAfterMs(outcome)
    if (wanted === null) return pause
    return wanted <= LONGEST_PAUSE_MS ? Math.max(wanted, pause) : null
  }

  async #exchange({ method, origin, path, headers, body, signal }: UpstreamCall): Promise<UpstreamReply> {
    const pool = this.#pools.get(origin) ?? (await this.#connectTo(origin))
    signal.throwIfAborted()
    const exchange = new Exchange(signal, this.#turns)
    // The library takes a Uint8Array, but looks long at it.
    const bytes =
      typeof body === 'string' || body === undefined
        ? (body ?? null)
        : Buffer.from(body.buffer, body.byteOffset, body.length)
    pool.dispatch({ method, path, headers: { 'user-agent': AGENT, ...headers }, body: bytes }, exchange)
    return exchange.reply
  }

  /** Not before the first request: reading the library takes longer than the rest of the server's start. */
  async #connectTo(origin: string): Promise<Pool> {
    this.#library ??= import('undici')
    const { Pool, buildConnector } = await this.#library
    if (this.#closed) throw new UpstreamFailure('closed', 'is not asked any more: the service is closing')
    const known = this.#pools.get(origin)
    if (known) return known
    const { connect_ms, head_ms, silence_ms } = this.#times
    const connector = watched(buildConnector({ timeout: connect_ms, allowH2: false }))
    const pool = new Pool(origin, {
      connections: MOST_CONNECTIONS,
      allowH2: false,
      connect: this.#own?.watching(connector) ?? connector,
      headersTimeout: head_ms,
      bodyTimeout: silence_ms,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MOST_HEAD_BYTES,
    })
    this.#pools.set(origin, pool)
    return pool
  }

  /** Breaks off what is under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    const pools = [...this.#pools.values()]
    this.#pools.clear()
    await Promise.all(
      pools.map((pool) => pool.destroy(new UpstreamFailure('closed', 'was left: the service is closing'))),
    )
  }
}

function isPassing(error: unknown, { method, patient = true }: UpstreamCall): error is UpstreamFailure {
  if (!(error instanceof UpstreamFailure)) return false
  if (error.fault === 'refused') return patient
  return error.fault === 'reset' && (method === 'GET' || error.unread)
}

/** RFC 9110 §10.2.3: seconds, or a date. `retry-after-ms` is what some servers send besides. Null where neither is understood. */
export function retryAfterMs({ header }: Pick<UpstreamReply, 'header'>): number | null {
  const exact = header('retry-after-ms')
  if (exact !== null && /^\d{1,9}(\.\d+)?$/.test(exact)) return Number(exact)
  const given = header('retry-after')
  if (given === null) return null
  if (/^\d{1,9}(\.\d+)?$/.test(given)) return Number(given) * 1_000
  const date = Date.parse(given)
  return Number.isNaN(date) ? null : Math.max(0, date - Date.now())
}
