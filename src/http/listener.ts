// The listener under both doors: how much a caller may send before anybody looks at it, how long it may take, and what it may ask of Node.
// How many may be connected is in connections.ts. Large bodies are refused by body.ts, frequent callers by limits.ts.
import type { IncomingMessage, Server } from 'node:http'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import type { Log } from '../log.ts'
import { UploadPace } from '../net/upload-pace.ts'
import { systemPlatform } from '../platform.ts'
import { connectionCame } from '../time-slices.ts'
import { Exchanges } from './broken.ts'
import { watchConnections } from './closing.ts'
import { boundConnections, type ConnectionLimits } from './connections.ts'
import { gatherChunks } from './gathered-chunks.ts'
import { letAsk } from './going-on.ts'
import { readInTurns } from './read-in-turns.ts'
import type { Unheard } from './unheard.ts'

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
const TIMES = { head_ms: 20_000, request_ms: 300_000, idle_ms: 65_000, check_ms: 5_000 }
const LARGEST_HEAD = 16_384
/** After so much silence the peer's machine is asked whether it is still there. */
const PROBE_AFTER_MS = 60_000

/**
 * Requests that `pace` watches are held to that, and to no limit of time as a whole. `newId` makes the ids of what is answered before it is a
 * request.
 */
export function createListener(
  log: Log,
  limits: Partial<ListenerLimits> = {},
  pace: UploadPace = new UploadPace(),
  newId: () => string = () => systemPlatform().id('req'),
): Server {
  const { head_ms, request_ms, idle_ms, check_ms } = { ...TIMES, ...limits }
  const server: Server = nodeHttp.createServer({
    maxHeaderSize: LARGEST_HEAD,
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
    shouldUpgradeCallback: (request) => asksForSocket(request) && !exchanges.owes(request.socket),
  })
  // The size of the head bounds them. Beyond a count of their own, versions of Node differ: one drops the rest in silence, and with it
  // what a proxy adds at the end.
  server.maxHeadersCount = 0
  // A client may close its side behind its request, as netcat does, and gets its answer all the same (RFC 9112, section 9.6). Node declares no type.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.on('connection', connectionCame)
  boundConnections(server, log, limits)
  watchConnections(server)
  const exchanges: Exchanges = new Exchanges(server)
  excuse(server, pace, exchanges, { log, newId })
  letAsk(server)
  readInTurns(server)
  gatherChunks(server)
  // Nobody has to mind an expectation that it does not know (RFC 9110, section 10.1.1). Node would refuse it before anybody was
  // counted, and go on reading.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  return server
}

function asksForSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket'
}

/** Of what is wrong with a connection Node tells once, and ends it unless somebody says that this is taken care of. */
function excuse(server: Server, pace: UploadPace, exchanges: Exchanges, unheard: Unheard): void {
  const emit = server.emit.bind(server) as (name: string | symbol, ...about: unknown[]) => boolean
  server.emit = (name: string | symbol, ...about: unknown[]) => {
    if (name !== 'clientError') return emit(name, ...about)
    const [error, socket] = about as [NodeJS.ErrnoException, Socket]
    const late = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
    if ((late && pace.covers(socket)) || exchanges.settle(error, socket)) return true
    return exchanges.answer(error, socket, unheard) || emit(name, ...about)
  }
}
