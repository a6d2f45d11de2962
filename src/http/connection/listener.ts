// The HTTP server under both transports: limits on what a client may send before a handler sees the request, and on how long it may take.
// connection-limits.ts limits connections, json-body.ts large bodies, rate-limits.ts frequent callers.
import type { IncomingMessage, Server } from 'node:http'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import type { Log } from '../../log.ts'
import { UploadStallDetector } from '../../net/upload-stall-detector.ts'
import { systemPlatform } from '../../platform.ts'
import { recordIncomingConnection } from '../../shared/time-slices.ts'
import { coalesceChunks } from './chunk-coalescing.ts'
import { type ConnectionLimits, limitConnections } from './connection-limits.ts'
import { acceptExpectContinue } from './expect-continue.ts'
import { trackConnections } from './graceful-close.ts'
import { ExchangeTracker } from './malformed-requests.ts'
import { throttleReads } from './read-throttling.ts'
import type { HeadErrorContext } from './request-head-errors.ts'

// An `import` of this module evaluates all its exports, among them the WebSocket of the platform, which takes tens of milliseconds.
const nodeHttp: typeof import('node:http') = createRequire(import.meta.url)('node:http')

/** Times in milliseconds. None of them runs while a response is made or sent, nor on an upgraded connection. */
export interface ListenerLimits extends ConnectionLimits {
  /** From the first byte of a request, or from the beginning of its connection, to the end of its head. */
  head_ms: number
  /** From the first byte of a request to the end of its body. */
  request_ms: number
  /** Between two requests on one connection. */
  idle_ms: number
  /** How often these times are checked. */
  check_ms: number
}

// Most proxies keep idle connections for 60 seconds. The proxy should close first: if the server did, it might do so as a new request comes.
const DEFAULT_TIMEOUTS = { head_ms: 20_000, request_ms: 300_000, idle_ms: 65_000, check_ms: 5_000 }
const MAX_HEAD_BYTES = 16_384
/** After this silence, TCP keep-alive probes the peer's machine. */
const PROBE_AFTER_MS = 60_000

/**
 * Requests that `pace` watches have to keep that pace, and have no limit of time as a whole. `newId` makes the ids of responses to malformed heads.
 */
export function createListener(
  log: Log,
  limits: Partial<ListenerLimits> = {},
  pace: UploadStallDetector = new UploadStallDetector(),
  newId: () => string = () => systemPlatform().id('req'),
): Server {
  const { head_ms, request_ms, idle_ms, check_ms } = { ...DEFAULT_TIMEOUTS, ...limits }
  const server: Server = nodeHttp.createServer({
    maxHeaderSize: MAX_HEAD_BYTES,
    headersTimeout: head_ms,
    requestTimeout: request_ms,
    connectionsCheckingInterval: check_ms,
    keepAliveTimeout: idle_ms,
    keepAlive: true,
    keepAliveInitialDelay: PROBE_AFTER_MS,
    // The application answers a request without `Host`, with a body. Node would send only a status.
    requireHostHeader: false,
    // A request may offer another protocol, such as h2c, and is then answered as if it had not (RFC 9110, section 7.8). The same holds for an upgrade
    // that comes while earlier responses are pending: a handshake would overtake them.
    shouldUpgradeCallback: (request) => isWebSocketUpgrade(request) && !exchanges.hasPendingResponses(request.socket),
  })
  // The size of the head limits its headers. Versions of Node differ beyond a count: some drop the rest silently, with it what a proxy appends.
  server.maxHeadersCount = 0
  // A client may half-close after its request, as netcat does, and still gets its response (RFC 9112, section 9.6). The types of Node lack this
  // option.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.on('connection', recordIncomingConnection)
  limitConnections(server, log, limits)
  trackConnections(server)
  const exchanges: ExchangeTracker = new ExchangeTracker(server)
  interceptClientErrors(server, pace, exchanges, { log, newId })
  acceptExpectContinue(server)
  throttleReads(server)
  coalesceChunks(server)
  // A server may ignore an expectation that it does not know (RFC 9110, section 10.1.1). Node would refuse the request before the caller is counted,
  // and go on reading.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  return server
}

function isWebSocketUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket'
}

/** Node reports a fault of a connection once, and ends the connection unless a listener handles the fault. */
function interceptClientErrors(
  server: Server,
  pace: UploadStallDetector,
  exchanges: ExchangeTracker,
  context: HeadErrorContext,
): void {
  const emit = server.emit.bind(server) as (name: string | symbol, ...args: unknown[]) => boolean
  server.emit = (name: string | symbol, ...args: unknown[]) => {
    if (name !== 'clientError') return emit(name, ...args)
    const [error, socket] = args as [NodeJS.ErrnoException, Socket]
    const isTimeout = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
    if ((isTimeout && pace.isWatching(socket)) || exchanges.handleBodyError(error, socket)) return true
    return exchanges.sendHeadError(error, socket, context) || emit(name, ...args)
  }
}
