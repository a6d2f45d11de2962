// The socket door: upgrades, who may open one, keep-alive and the end of all connections.
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { type RequestFacts, requestFacts } from '../access/facts.ts'
import type { Principal } from '../access/principal.ts'
import type { Cause, Verdict } from '../access/verdict.ts'
import type { AppContext } from '../context.ts'
import type { Channel } from './channel.ts'
import { channelAt } from './channels.ts'
import { Connection } from './connection.ts'
import { SOCKET_TIMES, type SocketTimes, type Wired } from './keep-alive.ts'
import { type RefusalStatus, refuse } from './refusal.ts'

/** RFC 6455, section 7.4.1, and the registry it founded: the server restarts. */
const SERVICE_RESTART = 1012
const POLICY_VIOLATION = 1008
const UNAVAILABLE = '503 Service Unavailable'
/** RFC 6455, section 4.4. */
const VERSION = '13'

interface Upgrade {
  readonly request: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
  readonly facts: RequestFacts
}

export class Gateway {
  readonly #app: AppContext
  readonly #times: SocketTimes
  readonly #sockets: WebSocketServer
  readonly #connections = new Set<Connection>()
  /** Sockets that are decided on, or were refused and not closed yet. */
  readonly #others = new Set<Duplex>()

  constructor(app: AppContext, times: Partial<SocketTimes> = {}) {
    this.#app = app
    this.#times = { ...SOCKET_TIMES, ...times }
    this.#sockets = new WebSocketServer({
      noServer: true,
      maxPayload: app.config.ws_max_message_bytes,
      perMessageDeflate: false,
      clientTracking: false,
      // The connection answers pings, unless too much is unread.
      autoPong: false,
    })
    this.#sockets.on('wsClientError', (_error, socket, request) => this.#malformed(socket, request))
  }

  /** Decides on one upgrade: how often, then who calls, then where to. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#others.add(socket)
    socket.once('close', () => this.#others.delete(socket))
    socket.on('error', () => socket.destroy())
    const upgrade = { request, socket, head, facts: requestFacts(request, 'socket', this.#app.own_requests) }
    const taken = this.#app.limiter.take(upgrade.facts)
    if (taken?.allowed === false) {
      this.#told(upgrade, 'RATE_LIMITED')
      return this.#refuse(socket, '429 Too Many Requests', { 'Retry-After': String(taken.reset_seconds) })
    }
    try {
      const verdict = this.#app.principalOf(upgrade.facts)
      if (!(verdict instanceof Promise)) return this.#act(upgrade, verdict)
      verdict.then((late) => this.#act(upgrade, late)).catch((error) => this.#failed(socket, error))
    } catch (error) {
      this.#failed(socket, error)
    }
  }

  #act(upgrade: Upgrade, { principal, refusal }: Verdict): void {
    const { request, socket, head, facts } = upgrade
    // Whoever has gone while somebody else was asked hears nothing.
    if (socket.destroyed) return
    if (refusal) {
      const unavailable = refusal.kind === 'unavailable'
      if (unavailable) this.#told(upgrade, 'SERVICE_UNAVAILABLE')
      else this.#told(upgrade, refusal.reason, refusal.cause)
      return this.#refuse(socket, unavailable ? UNAVAILABLE : '401 Unauthorized')
    }
    const channel = channelAt(facts.path)
    if (!channel) return this.#refuse(socket, '404 Not Found')
    if (this.#app.jobs.draining) return this.#refuse(socket, UNAVAILABLE)
    if (!isHandshake(request)) return this.#malformed(socket, request)
    this.#sockets.handleUpgrade(request, socket, head, (ws) => {
      this.#others.delete(socket)
      this.#open({ ws, wire: request.socket }, facts, principal, channel)
    })
  }

  #told({ facts, request }: Upgrade, reason: string, cause?: Cause): void {
    this.#app.audit.refused({ facts, method: request.method ?? '', reason, cause })
  }

  #malformed(socket: Duplex, { headers }: IncomingMessage): void {
    const spoken = headers['sec-websocket-version'] === VERSION
    this.#refuse(socket, '400 Bad Request', spoken ? {} : { 'Sec-WebSocket-Version': VERSION })
  }

  #failed(socket: Duplex, error: unknown): void {
    this.#app.log.error({ err: error }, 'an upgrade failed')
    this.#refuse(socket, '500 Internal Server Error')
  }

  #refuse(socket: Duplex, status: RefusalStatus, headers: Readonly<Record<string, string>> = {}): void {
    refuse(socket, status, this.#times.linger_ms, headers)
  }

  #open(wired: Wired, facts: RequestFacts, principal: Principal, channel: Channel): void {
    const connection = new Connection(wired, this.#app, principal, this.#times, channel)
    this.#connections.add(connection)
    const forget = this.#app.rechecks.watch(facts, principal, {
      renewed: (now) => connection.authorise(now),
      ended: () => connection.cut(POLICY_VIOLATION, 'the credential is no longer valid'),
    })
    wired.ws.once('close', () => {
      forget()
      this.#connections.delete(connection)
    })
    channel.opened?.(connection)
  }

  /** Closes every connection with 1012 and waits until they are gone, as long as a goodbye may take. */
  async close(): Promise<void> {
    for (const socket of this.#others) socket.destroy()
    await Promise.all(
      [...this.#connections].map((connection) => connection.close(SERVICE_RESTART, 'the server restarts')),
    )
    this.#sockets.close()
  }
}

/**
 * What the library lets pass: RFC 6455, section 4.1, asks for HTTP/1.1 and the one version. An older one names its page in another
 * header than Origin. A body would be taken for the first frames.
 */
function isHandshake({ httpVersion, headers }: IncomingMessage): boolean {
  if (httpVersion !== '1.1' || headers['sec-websocket-version'] !== VERSION) return false
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
}
