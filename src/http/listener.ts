// The listener under both doors: how much a caller may send before anybody looks at it, how long it may take, and how many may be connected.
// Large bodies are refused by body.ts, frequent callers by limits.ts.
import { readFileSync } from 'node:fs'
import type { IncomingMessage, Server } from 'node:http'
import { createRequire } from 'node:module'
import type { Log } from '../log.ts'

// An `import` of this module reads all that it exports, among it the WebSocket of the platform: tens of milliseconds.
const nodeHttp: typeof import('node:http') = createRequire(import.meta.url)('node:http')

/** Times in milliseconds. None of them runs while an answer is made or sent, nor on an upgraded connection. */
export interface ListenerLimits {
  /** From the first byte of a request, or from the beginning of its connection, to the end of its head. */
  head_ms: number
  /** From its first byte to the end of its body. */
  request_ms: number
  /** Between two requests on one connection. */
  idle_ms: number
  /** How often the times of requests are looked at. */
  check_ms: number
  /** Null for as many as there are descriptors. */
  connections: number | null
}

// Proxies keep idle connections for 60 seconds, mostly: whoever closes first should not be the one who is about to be asked.
const TIMES = { head_ms: 20_000, request_ms: 300_000, idle_ms: 65_000, check_ms: 5_000 }
const LARGEST_HEAD = 16_384
/** After so much silence the peer's machine is asked whether it is still there. */
const PROBE_AFTER_MS = 60_000

export function createListener(log: Log, limits: Partial<ListenerLimits> = {}): Server {
  const { head_ms, request_ms, idle_ms, check_ms } = { ...TIMES, ...limits }
  const server = nodeHttp.createServer({
    maxHeaderSize: LARGEST_HEAD,
    headersTimeout: head_ms,
    requestTimeout: request_ms,
    connectionsCheckingInterval: check_ms,
    keepAliveTimeout: idle_ms,
    keepAlive: true,
    keepAliveInitialDelay: PROBE_AFTER_MS,
    // A request may offer another protocol, such as h2c, and is then answered as if it had not (RFC 9110, section 7.8).
    shouldUpgradeCallback: asksForSocket,
  })
  // The size of the head bounds them. Beyond a count of their own, versions of Node differ: one drops the rest in silence, and with it
  // what a proxy adds at the end.
  server.maxHeadersCount = 0
  const connections = limits.connections === undefined ? connectionsWithin(openFiles()) : limits.connections
  if (connections !== null) server.maxConnections = connections
  server.once('drop', () => log.warn({ connections }, 'connections are refused: as many are open as may be'))
  return server
}

function asksForSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket'
}

/** Descriptors that are kept for the database, files of assets and outgoing requests. */
const KEPT = 256

/** How many connections fit into so many open files: a database that cannot open its own is worse than a caller who has to wait. */
export function connectionsWithin(open_files: number | null): number | null {
  return open_files === null ? null : Math.max(Math.floor(open_files / 2), open_files - KEPT)
}

/** How many files the process may have open; null where that is not known, or without bounds. */
function openFiles(): number | null {
  try {
    return openFilesIn(readFileSync('/proc/self/limits', 'utf8'))
  } catch {
    return null
  }
}

export function openFilesIn(limits: string): number | null {
  const soft = /^Max open files\s+(\d+)\s/m.exec(limits)?.[1]
  return soft === undefined ? null : Number(soft)
}
