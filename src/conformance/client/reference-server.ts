// The reference server for one scenario, with HTTP and `/ws` on one port. It listens and upgrades; the endpoints handle the requests.
import { createServer, type IncomingMessage, STATUS_CODES } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { ClientConnection } from './connection.ts'
import { serveHttpRequest } from './http-endpoint.ts'
import { parseRequestUrl } from './routes.ts'
import { createDecorator, type ScenarioContext } from './scenario.ts'
import type { ScenarioRun } from './scenario-run.ts'
import { createFrameHandler } from './socket-endpoint.ts'
import { isTokenAccepted } from './token-check.ts'

export interface ReferenceServer extends AsyncDisposable {
  readonly url: string
}

/** The interval of pings in every scenario. A client may take longer silence for a lost connection. */
const KEEP_ALIVE_MS = 25_000
const MAX_FRAME_BYTES = 32 * 1024 * 1024

/** Listens on 127.0.0.1. Port 0 selects a free port. */
export async function openReferenceServer(production: ScenarioContext, port: number): Promise<ReferenceServer> {
  let requests = 0
  const http = createServer((request, response) => {
    requests += 1
    void serveHttpRequest(request, response, production, `http ${requests}`)
  })
  const sockets = new WebSocketServer({ noServer: true, autoPong: false, maxPayload: MAX_FRAME_BYTES })
  const welcome = createSocketHandler(production)
  http.on('upgrade', (request, socket, head) => {
    socket.on('error', () => {})
    if (canUpgrade(request, socket, production)) sockets.handleUpgrade(request, socket, head, welcome)
  })
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject)
    http.listen(port, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      production.scenarioRun.dispose()
      sockets.close()
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}

/** Returns the handler of new sockets. */
function createSocketHandler(production: ScenarioContext): (ws: WebSocket) => void {
  const { scenarioRun: run, scenario } = production
  const events = {
    countBytes: (bytes: number, where: string) => run.countBytes(bytes, where),
    onFrame: createFrameHandler(run, scenario),
    onUnreadableFrame: (_: ClientConnection, entry: number) =>
      run.addViolation('the client sent an unreadable frame', entry),
    onPong: (connection: ClientConnection) => scenario.script.onPong?.(connection, run),
  }
  const parts = { transcript: run.transcript, events, decorate: createDecorator(production) }
  return (ws) => {
    const connection = new ClientConnection(run.connections.length + 1, ws, parts)
    run.connections.push(connection)
    run.hasConnected = true
    scheduleKeepAlive(connection, run)
    scenario.script.onOpen?.(connection, run)
  }
}

/** Sends pings as the contract requires. A broken or silent connection sends none. */
function scheduleKeepAlive(connection: ClientConnection, run: ScenarioRun): void {
  run.schedule(run.scaleTime(KEEP_ALIVE_MS, 100), () => {
    if (!connection.isOpen) return
    connection.send({ type: 'ping', ts: Date.now() })
    connection.ping()
    scheduleKeepAlive(connection, run)
  })
}

/** Whether a handshake may continue. Otherwise it is refused. */
function canUpgrade(request: IncomingMessage, socket: Duplex, production: ScenarioContext): boolean {
  const { transcript } = production.scenarioRun
  const entry = transcript.add('from_client', 'handshake', `${request.method} ${request.url}`)
  const status = findRefusalStatus(request, production, entry)
  if (status === null) return true
  transcript.add('to_client', 'handshake', `${status}`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
  return false
}

function findRefusalStatus(request: IncomingMessage, production: ScenarioContext, entry: number): number | null {
  if (parseRequestUrl(request.url!).pathname !== '/ws') return 404
  if (!isTokenAccepted(request, production, entry)) return 401
  return production.scenario.script.onUpgrade?.(production.scenarioRun) ?? null
}
