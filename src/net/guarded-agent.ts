// Connections that are made only where they may be: every address is judged in the moment of connecting, so that what a
// name meant a moment before does not count. Proxies of the environment are not asked: they would connect unjudged.
import { isIP, type LookupFunction, type Socket } from 'node:net'
import type { Agent, buildConnector } from 'undici'
import { type AllowList, bareHost } from './allow.ts'
import { MOST_CONNECTIONS } from './connections.ts'
import type { Lookup } from './name-lookup.ts'
import type { OwnRequests } from './own-requests.ts'
import { readInTurns } from './read-in-turns.ts'
import { RefusedAddress } from './target.ts'

/** Of a name with more addresses than this, the rest is not tried. */
const MOST_ADDRESSES = 16
const CONNECT_MS = 10_000
const MOST_HEADER_BYTES = 65_536

/** RFC 6761 §6.3: these names mean this machine, whatever a name server says. */
async function addressesOf(host: string, lookup: Lookup): Promise<readonly string[]> {
  return host === 'localhost' || host.endsWith('.localhost') ? ['127.0.0.1', '::1'] : lookup(host)
}

/** Looks a name up for one host and port, and gives those of its addresses that may be reached. */
function guardedLookup(host: string, port: number, allow: AllowList, lookup: Lookup): LookupFunction {
  const permitted = async () => {
    const found = await addressesOf(host, lookup)
    const good = found.filter((address) => allow.permits(host, port, address)).slice(0, MOST_ADDRESSES)
    if (good.length > 0) return good
    if (found.length > 0) throw new RefusedAddress(`The name resolved to ${found.join(', ')}`)
    throw Object.assign(new Error('The name has no address'), { code: 'ENODATA' })
  }
  return (_name, options, callback) => {
    permitted().then(
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
 * Connections that are not ready yet; when `signal` aborts, they close. There is one listener for all of them: the signal
 * lives as long as the client, and would keep one of each connection for ever.
 */
class Attempts {
  readonly #sockets = new Set<Socket>()
  readonly #signal: AbortSignal

  constructor(signal: AbortSignal) {
    this.#signal = signal
    const giveUp = () => {
      for (const socket of this.#sockets) socket.destroy(signal.reason)
    }
    signal.addEventListener('abort', giveUp, { once: true })
  }

  begin(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.over(socket))
    if (this.#signal.aborted) socket.destroy(this.#signal.reason)
  }

  over(socket: Socket): void {
    this.#sockets.delete(socket)
  }
}

/** Connects to one origin, and hands out no socket that ended up at an address that may not be reached. */
function guardedConnector(
  build: typeof buildConnector,
  origin: URL,
  allow: AllowList,
  lookup: Lookup,
  attempts: Attempts,
  connected: (socket: Socket) => void,
): buildConnector.connector {
  const host = bareHost(origin.hostname)
  const port = Number(origin.port || (origin.protocol === 'https:' ? 443 : 80))
  const guarded = guardedLookup(host, port, allow, lookup)
  const connect = build({ lookup: guarded, port, timeout: CONNECT_MS, allowH2: false })
  return (options, callback) => {
    if (isIP(host) !== 0 && !allow.permits(host, port, host))
      return callback(new RefusedAddress(`The address is ${host}`), null)
    // What the library's types do not tell: it returns the socket, which an end of the client has to reach before it is ready.
    const begun = connect(options, (...result: [null, Socket] | [Error, null]) => {
      const [error, socket] = result
      attempts.over(begun)
      if (error) return callback(error, null)
      const address = socket.remoteAddress
      if (address === undefined || allow.permits(host, port, address)) {
        readInTurns(socket)
        connected(socket)
        return callback(null, socket)
      }
      socket.destroy()
      callback(new RefusedAddress(`The address is ${address}`), null)
    }) as unknown as Socket
    attempts.begin(begun)
  }
}

/**
 * An agent for any origin that the list permits. When `signal` aborts, what is about to connect is given up; the sockets
 * that are connected close when the agent is destroyed. `own` knows them until then, and `opened` is told of each, with its origin.
 */
export async function guardedAgent(
  allow: AllowList,
  lookup: Lookup,
  signal: AbortSignal,
  own: OwnRequests | null = null,
  opened: (origin: string, socket: Socket) => void = () => {},
): Promise<Agent> {
  // Not before the first request: reading the library takes longer than the rest of the server's start.
  const { Agent, Pool, buildConnector } = await import('undici')
  const attempts = new Attempts(signal)
  return new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: MOST_HEADER_BYTES,
    connections: MOST_CONNECTIONS,
    allowH2: false,
    factory: (origin, options) => {
      const url = new URL(origin)
      const connected = (socket: Socket) => {
        own?.add(socket)
        opened(url.origin, socket)
      }
      const connect = guardedConnector(buildConnector, url, allow, lookup, attempts, connected)
      return new Pool(origin, { ...options, connect })
    },
  })
}
