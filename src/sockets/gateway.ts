// The socket door: upgrades, who may open one, keep-alive and the end of all connections.
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { requestFacts } from '../access/facts.ts'
import type { Principal } from '../access/principal.ts'
import type { Verdict } from '../access/verdict.ts'
import type { AppContext } from '../context.ts'
import { Connection } from './connection.ts'
import { SOCKET_TIMES, type SocketTimes } from './keep-alive.ts'

/** RFC 6455, section 7.4.1, and the registry it founded: the server restarts. */
const SERVICE_RESTART = 1012
const UNAVAILABLE = '503 Service Unavailable'

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
    const facts = requestFacts(request, 'socket')
    const act = ({ principal, refusal }: Verdict): void => {
      if (refusal) return refuse(socket, refusal.kind === 'unavailable' ? UNAVAILABLE : '401 Unauthorized')
      if (facts.path !== '/ws') return refuse(socket, '404 Not Found')
      if (this.#app.jobs.draining) return refuse(socket, UNAVAILABLE)
      this.#sockets.handleUpgrade(request, socket, head, (ws) => this.#open(ws, principal))
    }
    const verdict = this.#app.principalOf(facts)
    if (verdict instanceof Promise) verdict.then(act).catch((error) => this.#failed(socket, error))
    else act(verdict)
  }

  #failed(socket: Duplex, error: unknown): void {
    this.#app.log.error({ err: error }, 'an upgrade failed')
    refuse(socket, '500 Internal Server Error')
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

/** A bare answer without a body; the descriptor is free when it has been sent. */
function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () => socket.destroy())
}
