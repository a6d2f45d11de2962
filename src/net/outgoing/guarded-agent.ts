// Makes connections only to permitted addresses. Each address is checked at the moment of connecting, so an earlier look-up of its name
// does not count. Proxies of the environment are ignored, because they would connect without this check.
import { isIP, type LookupFunction, type Socket } from 'node:net'
import type { Agent, buildConnector } from 'undici'
import type { OwnRequestDetector } from '../own-request-detector.ts'
import { throttleResponseReads } from '../response-read-throttling.ts'
import { type AllowList, normalizeHost } from './allow-list.ts'
import { MAX_CONNECTIONS_PER_ORIGIN } from './connection-quota.ts'
import type { HostLookup } from './dns-lookup.ts'
import { RefusedAddressError } from './target-url.ts'

/** Further addresses of a name are not tried. */
const MAX_ADDRESSES_TRIED = 16
const CONNECT_TIMEOUT_MS = 10_000
const MAX_HEADER_BYTES = 65_536

/** RFC 6761 §6.3: these names mean this machine, whatever a name server answers. */
async function resolveHost(host: string, lookup: HostLookup): Promise<readonly string[]> {
  return host === 'localhost' || host.endsWith('.localhost') ? ['127.0.0.1', '::1'] : lookup(host)
}

/** Looks up a name for one host and port, and returns its permitted addresses. */
function createGuardedLookup(host: string, port: number, allow: AllowList, lookup: HostLookup): LookupFunction {
  const resolvePermitted = async () => {
    const found = await resolveHost(host, lookup)
    const good = found.filter((address) => allow.permits(host, port, address)).slice(0, MAX_ADDRESSES_TRIED)
    if (good.length > 0) return good
    if (found.length > 0) throw new RefusedAddressError(`The name resolved to ${found.join(', ')}`)
    throw Object.assign(new Error('The name has no address'), { code: 'ENODATA' })
  }
  return (_name, options, callback) => {
    resolvePermitted().then(
      (good) => {
        const all = good.map((address) => ({ address, family: isIP(address) }))
        if (options.all) callback(null, all)
        else callback(null, all[0]!.address, all[0]!.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    )
  }
}

/**
 * Connections that are not ready yet. They close when `signal` aborts. All of them share one listener, because the signal lives as long as
 * the client and would otherwise keep one listener for each connection.
 */
class PendingConnections {
  readonly #sockets = new Set<Socket>()
  readonly #signal: AbortSignal

  constructor(signal: AbortSignal) {
    this.#signal = signal
    const giveUp = () => {
      for (const socket of this.#sockets) socket.destroy(signal.reason)
    }
    signal.addEventListener('abort', giveUp, { once: true })
  }

  add(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.remove(socket))
    if (this.#signal.aborted) socket.destroy(this.#signal.reason)
  }

  remove(socket: Socket): void {
    this.#sockets.delete(socket)
  }
}

/** Connects to one origin. A socket that ended up at a forbidden address is never returned. */
function createGuardedConnector(
  build: typeof buildConnector,
  origin: URL,
  allow: AllowList,
  lookup: HostLookup,
  attempts: PendingConnections,
  connected: (socket: Socket) => void,
): buildConnector.connector {
  const host = normalizeHost(origin.hostname)
  const port = Number(origin.port || (origin.protocol === 'https:' ? 443 : 80))
  const guarded = createGuardedLookup(host, port, allow, lookup)
  const connect = build({ lookup: guarded, port, timeout: CONNECT_TIMEOUT_MS, allowH2: false })
  return (options, callback) => {
    if (isIP(host) !== 0 && !allow.permits(host, port, host))
      return callback(new RefusedAddressError(`The address is ${host}`), null)
    // The library's types hide that it returns the socket. A client that ends has to close the socket before it is ready.
    const begun = connect(options, (...result: [null, Socket] | [Error, null]) => {
      const [error, socket] = result
      attempts.remove(begun)
      if (error) return callback(error, null)
      const address = socket.remoteAddress
      if (address === undefined || allow.permits(host, port, address)) {
        throttleResponseReads(socket)
        connected(socket)
        return callback(null, socket)
      }
      socket.destroy()
      callback(new RefusedAddressError(`The address is ${address}`), null)
    }) as unknown as Socket
    attempts.add(begun)
  }
}

/**
 * Creates an agent for every origin that the list permits. When `signal` aborts, pending connections are given up. Connected sockets close
 * when the agent is destroyed. `own` knows them until then. `opened` gets each socket with its origin.
 */
export async function createGuardedAgent(
  allow: AllowList,
  lookup: HostLookup,
  signal: AbortSignal,
  own: OwnRequestDetector | null = null,
  opened: (origin: string, socket: Socket) => void = () => {},
): Promise<Agent> {
  // The library loads with the first request: loading it takes longer than the rest of the server's start.
  const { Agent, Pool, buildConnector } = await import('undici')
  const attempts = new PendingConnections(signal)
  return new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: MAX_HEADER_BYTES,
    connections: MAX_CONNECTIONS_PER_ORIGIN,
    allowH2: false,
    factory: (origin, options) => {
      const url = new URL(origin)
      const connected = (socket: Socket) => {
        own?.trackConnection(socket)
        opened(url.origin, socket)
      }
      const connect = createGuardedConnector(buildConnector, url, allow, lookup, attempts, connected)
      return new Pool(origin, { ...options, connect })
    },
  })
}
