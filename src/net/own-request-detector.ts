// Recognizes requests that this process sends on behalf of users and that come back to its own port. Such a request comes from this
// machine, but the author of a workflow controls it. Its source address therefore gives it no trust.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { buildConnector } from 'undici'
import { parseIpAddress } from './ip-addresses.ts'

/** The process adds this header to the requests of nodes. A NAT or a proxy on the way changes the address, but keeps the header. */
const MARK_HEADER = 'x-svc-sender'

type SocketEndpoints = Partial<Pick<Socket, 'localAddress' | 'localPort' | 'remoteAddress' | 'remotePort'>>

/** The two ends of a connection, as this process sees them. `canonicalizeIpAddress` gives the addresses. */
interface OwnConnection {
  readonly from: string
  readonly to: string
  readonly to_port: number
}

/** Returns the canonical spelling of an address. An IPv4-mapped address becomes its IPv4 address, and the zone is removed. */
export function canonicalizeIpAddress(text: string): string {
  return parseIpAddress(text)?.toString() ?? text
}

export class OwnRequestDetector {
  /** The headers to set after a user's own headers. Their value is random and differs in each process. */
  readonly markHeaders: Readonly<Record<string, string>>
  readonly #mark: string
  /** Open connections by the port on this side. There are nearly always few or none. */
  readonly #connectionsByPort = new Map<number, Set<OwnConnection>>()

  /** `mark`: a secret value in characters of a header. */
  constructor(mark: string) {
    this.#mark = mark
    this.markHeaders = { [MARK_HEADER]: mark }
  }

  /** Registers a connection until it closes. The caller registers it before anything is sent on it. */
  trackConnection(socket: Socket): void {
    const { localAddress, localPort, remoteAddress, remotePort } = socket
    if (!localAddress || !localPort || !remoteAddress || !remotePort) return
    const connection = {
      from: canonicalizeIpAddress(localAddress),
      to: canonicalizeIpAddress(remoteAddress),
      to_port: remotePort,
    }
    const known = this.#connectionsByPort.get(localPort) ?? new Set()
    this.#connectionsByPort.set(localPort, known.add(connection))
    socket.once('close', () => {
      known.delete(connection)
      if (known.size === 0) this.#connectionsByPort.delete(localPort)
    })
  }

  /** Connects as `connector` does, and registers the connections. */
  trackConnector(connector: buildConnector.connector): buildConnector.connector {
    return (options, done) =>
      connector(options, (...[error, socket]) => {
        if (error) return done(error, null)
        this.trackConnection(socket)
        done(null, socket)
      })
  }

  /** Whether this process sent the request: the request bears the mark, or came on a registered connection. */
  isOwnRequest({ headers, socket }: Pick<IncomingMessage, 'headers'> & { readonly socket: SocketEndpoints }): boolean {
    return headers[MARK_HEADER] === this.#mark || this.isOwnConnection(socket)
  }

  /** Whether this process made the connection that it accepted. No proxy stands between the two ends then. */
  isOwnConnection(socket: SocketEndpoints): boolean {
    const found = this.#connectionsByPort.get(socket.remotePort ?? 0)
    return found !== undefined && this.#isAmong(found, socket)
  }

  #isAmong(
    connections: ReadonlySet<OwnConnection>,
    { remoteAddress, localAddress, localPort }: SocketEndpoints,
  ): boolean {
    if (!remoteAddress || !localAddress) return false
    const [from, to] = [canonicalizeIpAddress(remoteAddress), canonicalizeIpAddress(localAddress)]
    for (const one of connections) if (one.from === from && one.to === to && one.to_port === localPort) return true
    return false
  }
}
