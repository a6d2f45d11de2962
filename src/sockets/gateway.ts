// The WebSocket transport: upgrades and their authentication, and the end of all connections.
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import type { AuthVerdict, RefusalCause } from '../access/auth-verdict.ts'
import type { Principal } from '../access/principal.ts'
import { type RequestFacts, readRequestFacts } from '../access/request-facts.ts'
import type { AppContext } from '../context.ts'
import { closeLingering } from '../net/lingering-close.ts'
import { findChannel } from './channel-registry.ts'
import { SocketConnection } from './connection.ts'
import { DEFAULT_SOCKET_TIMEOUTS, type SocketTimeouts, type WiredSocket } from './keep-alive.ts'
import type { SocketChannel } from './socket-channel.ts'

/** RFC 6455, section 7.4.1, and the registry it founded: the server restarts. */
const SERVICE_RESTART = 1012
const POLICY_VIOLATION = 1008
const UNAVAILABLE = '503 Service Unavailable'
/** RFC 6455, section 4.4. */
const WEBSOCKET_VERSION = '13'

interface UpgradeRequest {
  readonly request: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
  readonly facts: RequestFacts
}

type UpgradeRefusalStatus =
  | '400 Bad Request'
  | '401 Unauthorized'
  | '404 Not Found'
  | '429 Too Many Requests'
  | '500 Internal Server Error'
  | '503 Service Unavailable'

export class SocketGateway {
  readonly #app: AppContext
  readonly #timeouts: SocketTimeouts
  readonly #sockets: WebSocketServer
  readonly #connections = new Set<SocketConnection>()
  /** Sockets whose upgrade is pending, or was refused while the socket is still open. */
  readonly #pendingSockets = new Set<Duplex>()

  constructor(app: AppContext, timeouts: Partial<SocketTimeouts> = {}) {
    this.#app = app
    this.#timeouts = { ...DEFAULT_SOCKET_TIMEOUTS, ...timeouts }
    this.#sockets = new WebSocketServer({
      noServer: true,
      maxPayload: app.config.ws_max_message_bytes,
      perMessageDeflate: false,
      clientTracking: false,
      // SocketConnection answers pings, unless too much is unread.
      autoPong: false,
    })
    this.#sockets.on('wsClientError', (_error, socket, request) => this.#refuseMalformed(socket, request))
  }

  /** Decides on an upgrade: rate limit, then authentication, then path. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#pendingSockets.add(socket)
    socket.once('close', () => this.#pendingSockets.delete(socket))
    socket.on('error', () => socket.destroy())
    const upgrade = { request, socket, head, facts: readRequestFacts(request, 'socket', this.#app.access.own_requests) }
    const taken = this.#app.access.rate_limiter.take(upgrade.facts)
    if (taken?.allowed === false) {
      this.#recordRefusal(upgrade, 'RATE_LIMITED')
      return this.#refuse(socket, '429 Too Many Requests', { 'Retry-After': String(taken.reset_seconds) })
    }
    try {
      const verdict = this.#app.access.authenticate(upgrade.facts)
      if (!(verdict instanceof Promise)) return this.#applyVerdict(upgrade, verdict)
      verdict
        .then((resolved) => this.#applyVerdict(upgrade, resolved))
        .catch((error) => this.#refuseFailed(socket, error))
    } catch (error) {
      this.#refuseFailed(socket, error)
    }
  }

  #applyVerdict(upgrade: UpgradeRequest, { principal, refusal }: AuthVerdict): void {
    const { request, socket, head, facts } = upgrade
    // The client may have gone while the identity provider was asked.
    if (socket.destroyed) return
    if (refusal) {
      const unavailable = refusal.kind === 'unavailable'
      if (unavailable) this.#recordRefusal(upgrade, 'SERVICE_UNAVAILABLE')
      else this.#recordRefusal(upgrade, refusal.reason, refusal.cause)
      return this.#refuse(socket, unavailable ? UNAVAILABLE : '401 Unauthorized')
    }
    const channel = findChannel(facts.path)
    if (!channel) return this.#refuse(socket, '404 Not Found')
    if (this.#app.runs.jobs.draining) return this.#refuse(socket, UNAVAILABLE)
    if (!isValidHandshake(request)) return this.#refuseMalformed(socket, request)
    this.#sockets.handleUpgrade(request, socket, head, (ws) => {
      this.#pendingSockets.delete(socket)
      this.#open({ ws, wire: request.socket }, facts, principal, channel)
    })
  }

  #recordRefusal({ facts, request }: UpgradeRequest, reason: string, cause?: RefusalCause): void {
    this.#app.access.audit.recordRefusal({ facts, method: request.method ?? '', reason, cause })
  }

  #refuseMalformed(socket: Duplex, { headers }: IncomingMessage): void {
    const hasVersion = headers['sec-websocket-version'] === WEBSOCKET_VERSION
    this.#refuse(socket, '400 Bad Request', hasVersion ? {} : { 'Sec-WebSocket-Version': WEBSOCKET_VERSION })
  }

  #refuseFailed(socket: Duplex, error: unknown): void {
    this.#app.log.error({ err: error }, 'an upgrade failed')
    this.#refuse(socket, '500 Internal Server Error')
  }

  #refuse(socket: Duplex, status: UpgradeRefusalStatus, headers: Readonly<Record<string, string>> = {}): void {
    refuseUpgrade(socket, status, this.#timeouts.linger_ms, headers)
  }

  #open(wired: WiredSocket, facts: RequestFacts, principal: Principal, channel: SocketChannel): void {
    const connection = new SocketConnection(wired, this.#app, principal, this.#timeouts, channel)
    this.#connections.add(connection)
    const forget = this.#app.access.rechecker.watch(facts, principal, {
      onRenewed: (renewed) => connection.setPrincipal(renewed),
      onEnded: () => connection.cut(POLICY_VIOLATION, 'the credential is no longer valid'),
    })
    wired.ws.once('close', () => {
      forget()
      this.#connections.delete(connection)
    })
    channel.onOpen?.(connection)
  }

  /** Closes every connection with 1012, and waits for their end within the close timeout. */
  async close(): Promise<void> {
    for (const socket of this.#pendingSockets) socket.destroy()
    await Promise.all(
      [...this.#connections].map((connection) => connection.close(SERVICE_RESTART, 'the server restarts')),
    )
    this.#sockets.close()
  }
}

/**
 * Checks what the library does not: RFC 6455, section 4.1, requires HTTP/1.1 and this version. An older version sends the origin in another header. A
 * body would be taken for the first frames.
 */
function isValidHandshake({ httpVersion, headers }: IncomingMessage): boolean {
  if (httpVersion !== '1.1' || headers['sec-websocket-version'] !== WEBSOCKET_VERSION) return false
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
}

/** Answers by a status alone, without a body. The descriptor is free as soon as the peer closes its side, and after `linger_ms` (milliseconds) at the latest. */
function refuseUpgrade(
  socket: Duplex,
  status: UpgradeRefusalStatus,
  linger_ms: number,
  headers: Readonly<Record<string, string | number>> = {},
): void {
  if (socket.destroyed) return
  const lines = Object.entries({ Connection: 'close', 'Content-Length': 0, ...headers })
  socket.write(`HTTP/1.1 ${status}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)
  closeLingering(socket, linger_ms)
}
