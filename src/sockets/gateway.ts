// The socket door: upgrades, who may open one, keep-alive and the end of all connections.
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Principal } from '../access/principal.ts'
import type { AppContext } from '../context.ts'
import { Connection } from './connection.ts'
import { SOCKET_TIMES, type SocketTimes } from './keep-alive.ts'

/** RFC 6455, section 7.4.1, and the registry it founded: the server restarts. */
const SERVICE_RESTART = 1012

export class Gateway {
  readonly #app: AppContext
  readonly #times: SocketTimes
  readonly #sockets: WebSocketServer
  readonly #connections = new Set<Connection>()

  constructor(app: AppContext, times: Partial<SocketTimes> = {}) {
    this.#app = app
    this.#times = { ...SOCKET_TIMES, ...times }
    this.#sockets = new WebSocketServer({
      noServer: true,
      maxPayload: app.config.ws_max_message_bytes,
      perMessageDeflate: false,
      clientTracking: false,
    })
  }

  /** Decides on one upgrade: who calls, then where to. A refusal frees the socket at once. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy())
    const principal = this.#app.principalOf(request)
    if (!principal) return refuse(socket, '401 Unauthorized')
    if (pathOf(request) !== '/ws') return refuse(socket, '404 Not Found')
    if (this.#app.jobs.draining) return refuse(socket, '503 Service Unavailable')
    this.#sockets.handleUpgrade(request, socket, head, (ws) => this.#open(ws, principal))
  }

  #open(ws: WebSocket, principal: Principal): void {
    const connection = new Connection(ws, this.#app, principal, this.#times)
    this.#connections.add(connection)
    ws.once('close', () => this.#connections.delete(connection))
  }

  /** Closes every connection with 1012 and waits until they are gone, as long as a goodbye may take. */
  async close(): Promise<void> {
    await Promise.all(
      [...this.#connections].map((connection) => connection.close(SERVICE_RESTART, 'the server restarts')),
    )
    this.#sockets.close()
  }
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '').split('?', 1)[0] ?? ''
}

/** A bare answer without a body; the descriptor is free when it has been sent. */
function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () => socket.destroy())
}
