// The end of a listener: answers that are under way go out, and nobody waits for those who ask nothing.
import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** For the last answers, in milliseconds. */
const GRACE_PERIOD_MS = 2_000
const IDLE_CHECK_MS = 20

const openSockets = new WeakMap<Server, Set<Socket>>()

/** Keeps account of the connections of a listener, so that it can be closed in time. */
export function trackConnections(server: Server): void {
  const sockets = new Set<Socket>()
  openSockets.set(server, sockets)
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
}

/** Takes no more connections, lets the answers that are under way go out, and cuts what is left after that. */
export function closeListener(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const idle = setInterval(() => closeIdleSockets(server), IDLE_CHECK_MS)
    const cut = setTimeout(() => server.closeAllConnections(), GRACE_PERIOD_MS)
    server.close(() => {
      clearInterval(idle)
      clearTimeout(cut)
      resolve()
    })
    closeIdleSockets(server)
  })
}

/** Node counts as idle only what was asked before. Clients connect ahead of their next request as well, some whenever they leave an answer. */
function closeIdleSockets(server: Server): void {
  server.closeIdleConnections()
  for (const socket of openSockets.get(server) ?? []) if (socket.bytesRead === 0) socket.destroy()
}
