// Which requests this process sends on behalf of users, so that it knows one that comes back to its own port. Such a request is never
// trusted by its place: it comes from this machine, and from whoever wrote a workflow.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { buildConnector } from 'undici'
import { parseIpAddress } from './ip-addresses.ts'

/** What it adds to the requests of nodes, where an address cannot tell: a NAT or a proxy on the way makes it another one. */
const MARK_HEADER = 'x-svc-sender'

type SocketEndpoints = Partial<Pick<Socket, 'localAddress' | 'localPort' | 'remoteAddress' | 'remotePort'>>

/** Where a connection begins and ends, as it is seen from this side. Addresses as `canonicalizeIpAddress` gives them. */
interface OwnConnection {
  readonly from: string
  readonly to: string
  readonly to_port: number
}

/** An address in its one spelling: an IPv4-mapped one is its IPv4 address, and a zone is left out. */
export function canonicalizeIpAddress(text: string): string {
  return parseIpAddress(text)?.toString() ?? text
}

export class OwnRequestDetector {
  /** To be set on a request after the headers that a user gives. Its value says nothing, and is another one in each process. */
  readonly markHeaders: Readonly<Record<string, string>>
  readonly #mark: string
  /** By the port on this side. While they are open: nearly always there are few or none. */
  readonly #connectionsByPort = new Map<number, Set<OwnConnection>>()

  /** `mark`: what nobody else sends, in characters of a header. */
  constructor(mark: string) {
    this.#mark = mark
    this.markHeaders = { [MARK_HEADER]: mark }
  }

  /** Knows a connection from now until it closes. To be called when it is made and before anything is sent on it. */
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

  /** Connects as `connector` does, and knows the connections. */
  trackConnector(connector: buildConnector.connector): buildConnector.connector {
    return (options, done) =>
      connector(options, (...[error, socket]) => {
        if (error) return done(error, null)
        this.trackConnection(socket)
        done(null, socket)
      })
  }

  /** Whether this process sent a request that has come to it: it bears the mark, or came on a connection that is known. */
  isOwnRequest({ headers, socket }: Pick<IncomingMessage, 'headers'> & { readonly socket: SocketEndpoints }): boolean {
    return headers[MARK_HEADER] === this.#mark || this.isOwnConnection(socket)
  }

  /** Whether a connection that has come to it is one that it knows: nobody between the two ends has had a say. */
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
