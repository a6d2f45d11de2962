// The reference server: HTTP and `/ws` on one port, for one scenario. It listens and upgrades; the doors do the rest.
import { createServer, type IncomingMessage, STATUS_CODES } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { isAdmitted } from './admission.ts'
import { Connection } from './connection.ts'
import { serve } from './http-door.ts'
import { urlOf } from './routes.ts'
import { decoration, type Production } from './scenario.ts'
import { receiveFrame } from './socket-door.ts'
import type { Stage } from './stage.ts'

export interface ReferenceServer extends AsyncDisposable {
  readonly url: string
}

/** How often the socket says something, whatever the scenario: a client may take longer silence for a loss. */
const KEEP_ALIVE_MS = 25_000
const LARGEST_FRAME = 32 * 1024 * 1024

/** Listens on 127.0.0.1; port 0 takes any free one. */
export async function openServer(production: Production, port: number): Promise<ReferenceServer> {
  let requests = 0
  const http = createServer((request, response) => {
    requests += 1
    void serve(request, response, production, `http ${requests}`)
  })
  const sockets = new WebSocketServer({ noServer: true, autoPong: false, maxPayload: LARGEST_FRAME })
  const welcome = welcomeTo(production)
  http.on('upgrade', (request, socket, head) => {
    socket.on('error', () => {})
    if (mayOpen(request, socket, production)) sockets.handleUpgrade(request, socket, head, welcome)
  })
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject)
    http.listen(port, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      production.stage.end()
      sockets.close()
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}

/** What happens to each socket that opens. */
function welcomeTo(production: Production): (ws: WebSocket) => void {
  const { stage, scenario } = production
  const events = {
    take: (bytes: number, where: string) => stage.take(bytes, where),
    frame: receiveFrame(stage, scenario),
    unreadable: (_: Connection, entry: number) => stage.violate('the client sent a frame that cannot be read', entry),
    pong: (connection: Connection) => scenario.play.pong?.(connection, stage),
  }
  const parts = { transcript: stage.transcript, events, decorate: decoration(production) }
  return (ws) => {
    const connection = new Connection(stage.connections.length + 1, ws, parts)
    stage.connections.push(connection)
    stage.connected = true
    keepAlive(connection, stage)
    scenario.play.open?.(connection, stage)
  }
}

/** As the contract has it. A connection that is broken, or has fallen silent, sends nothing any more. */
function keepAlive(connection: Connection, stage: Stage): void {
  stage.after(stage.paced(KEEP_ALIVE_MS, 100), () => {
    if (!connection.open) return
    connection.send({ type: 'ping', ts: Date.now() })
    connection.ping()
    keepAlive(connection, stage)
  })
}

/** Whether a handshake may go on; else it is refused. */
function mayOpen(request: IncomingMessage, socket: Duplex, production: Production): boolean {
  const { transcript } = production.stage
  const entry = transcript.add('from_client', 'handshake', `${request.method} ${request.url}`)
  const status = refusalOf(request, production, entry)
  if (status === null) return true
  transcript.add('to_client', 'handshake', `${status}`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
  return false
}

function refusalOf(request: IncomingMessage, production: Production, entry: number): number | null {
  if (urlOf(request.url!).pathname !== '/ws') return 404
  if (!isAdmitted(request, production, entry)) return 401
  return production.scenario.play.upgrade?.(production.stage) ?? null
}
