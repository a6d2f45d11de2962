// The listener under both doors: how much a caller may send before anybody looks at it, how long it may take, and what it may ask of Node.
// How many may be connected is in connections.ts. Large bodies are refused by body.ts, frequent callers by limits.ts.
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

// An `import` of this module reads all that it exports, among it the WebSocket of the platform: tens of milliseconds.
const nodeHttp: typeof import('node:http') = createRequire(import.meta.url)('node:http')

/** Times in milliseconds. None of them runs while an answer is made or sent, nor on an upgraded connection. */
export interface ListenerLimits extends ConnectionLimits {
  /** From the first byte of a request, or from the beginning of its connection, to the end of its head. */
  head_ms: number
  /** From its first byte to the end of its body. */
  request_ms: number
  /** Between two requests on one connection. */
  idle_ms: number
  /** How often the times of requests are looked at. */
  check_ms: number
}

// Proxies keep idle connections for 60 seconds, mostly: whoever closes first should not be the one who is about to be asked.
const DEFAULT_TIMEOUTS = { head_ms: 20_000, request_ms: 300_000, idle_ms: 65_000, check_ms: 5_000 }
const MAX_HEAD_BYTES = 16_384
/** After so much silence the peer's machine is asked whether it is still there. */
const PROBE_AFTER_MS = 60_000

/**
 * Requests that `pace` watches are held to that, and to no limit of time as a whole. `newId` makes the ids of what is answered before it is a
 * request.
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
    // A request without one is answered by the application, with a body: Node would say nothing but its status.
    requireHostHeader: false,
    // A request may offer another protocol, such as h2c, and is then answered as if it had not (RFC 9110, section 7.8). So is one
    // that comes before the answers to others have gone: a handshake would overtake them.
    shouldUpgradeCallback: (request) => isWebSocketUpgrade(request) && !exchanges.hasPendingResponses(request.socket),
  })
  // The size of the head bounds them. Beyond a count of their own, versions of Node differ: one drops the rest in silence, and with it
  // what a proxy adds at the end.
  server.maxHeadersCount = 0
  // A client may close its side behind its request, as netcat does, and gets its answer all the same (RFC 9112, section 9.6). Node declares no type.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.on('connection', recordIncomingConnection)
  limitConnections(server, log, limits)
  trackConnections(server)
  const exchanges: ExchangeTracker = new ExchangeTracker(server)
  interceptClientErrors(server, pace, exchanges, { log, newId })
  acceptExpectContinue(server)
  throttleReads(server)
  coalesceChunks(server)
  // Nobody has to mind an expectation that it does not know (RFC 9110, section 10.1.1). Node would refuse it before anybody was
  // counted, and go on reading.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  return server
}

function isWebSocketUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket'
}

/** Of what is wrong with a connection Node tells once, and ends it unless somebody says that this is taken care of. */
function interceptClientErrors(
  server: Server,
  pace: UploadStallDetector,
  exchanges: ExchangeTracker,
  context: HeadErrorContext,
): void {
  const emit = server.emit.bind(server) as (name: string | symbol, ...about: unknown[]) => boolean
  server.emit = (name: string | symbol, ...about: unknown[]) => {
    if (name !== 'clientError') return emit(name, ...about)
    const [error, socket] = about as [NodeJS.ErrnoException, Socket]
    const late = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
    if ((late && pace.isWatching(socket)) || exchanges.handleBodyError(error, socket)) return true
    return exchanges.sendHeadError(error, socket, context) || emit(name, ...about)
  }
}
