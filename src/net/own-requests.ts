// Which requests this process sends on behalf of users, so that it knows one that comes back to its own port. Such a request is never
// trusted by its place: it comes from this machine, and from whoever wrote a workflow.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { buildConnector } from 'undici'
import { readAddress } from './addresses.ts'

/** What it adds to the requests of nodes, where an address cannot tell: a NAT or a proxy on the way makes it another one. */
const MARK = 'x-svc-sender'

type Ends = Partial<Pick<Socket, 'localAddress' | 'localPort' | 'remoteAddress' | 'remotePort'>>

/** Where a connection begins and ends, as it is seen from this side. Addresses as `canonicalAddress` gives them. */
interface OwnConnection {
  readonly from: string
  readonly to: string
  readonly to_port: number
}

/** An address in its one spelling: an IPv4-mapped one is its IPv4 address, and a zone is left out. */
export function canonicalAddress(text: string): string {
  return readAddress(text)?.toString() ?? text
}

export class OwnRequests {
  /** To be set on a request after the headers that a user gives. Its value says nothing, and is another one in each process. */
  readonly header: Readonly<Record<string, string>>
  readonly #mark: string
  /** By the port on this side. While they are open: nearly always there are few or none. */
  readonly #open = new Map<number, Set<OwnConnection>>()

  /** `mark`: what nobody else sends, in characters of a header. */
  constructor(mark: string) {
    this.#mark = mark
    this.header = { [MARK]: mark }
  }

  /** Knows a connection from now until it closes. To be called when it is made and before anything is sent on it. */
  add(socket: Socket): void {
    const { localAddress, localPort, remoteAddress, remotePort } = socket
    if (!localAddress || !localPort || !remoteAddress || !remotePort) return
    const connection = {
      from: canonicalAddress(localAddress),
      to: canonicalAddress(remoteAddress),
      to_port: remotePort,
    }
    const known = this.#open.get(localPort) ?? new Set()
    this.#open.set(localPort, known.add(connection))
    socket.once('close', () => {
      known.delete(connection)
      if (known.size === 0) this.#open.delete(localPort)
    })
  }

  /** Connects as `connector` does, and knows the connections. */
  watching(connector: buildConnector.connector): buildConnector.connector {
    return (options, done) =>
      connector(options, (...[error, socket]) => {
        if (error) return done(error, null)
        this.add(socket)
        done(null, socket)
      })
  }

  /** Whether this process sent a request that has come to it: it bears the mark, or came on a connection that is known. */
  has({ headers, socket }: Pick<IncomingMessage, 'headers'> & { readonly socket: Ends }): boolean {
    return headers[MARK] === this.#mark || this.hasConnection(socket)
  }

  /** Whether a connection that has come to it is one that it knows: nobody between the two ends has had a say. */
  hasConnection(socket: Ends): boolean {
    const found = this.#open.get(socket.remotePort ?? 0)
    return found !== undefined && this.#isAmong(found, socket)
  }

  #isAmong(connections: ReadonlySet<OwnConnection>, { remoteAddress, localAddress, localPort }: Ends): boolean {
    if (!remoteAddress || !localAddress) return false
    const [from, to] = [canonicalAddress(remoteAddress), canonicalAddress(localAddress)]
    for (const one of connections) if (one.from === from && one.to === to && one.to_port === localPort) return true
    return false
  }
}
