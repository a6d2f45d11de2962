// Closes a listener: pending responses go out, and idle connections are closed at once.
import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** Milliseconds for pending responses. */
const GRACE_PERIOD_MS = 2_000
const IDLE_CHECK_MS = 20

const openSockets = new WeakMap<Server, Set<Socket>>()

/** Tracks the connections of a listener for `closeListener`. */
export function trackConnections(server: Server): void {
  const sockets = new Set<Socket>()
  openSockets.set(server, sockets)
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
}

/** Accepts no more connections, lets pending responses go out, and cuts the remaining connections. */
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

/** Node counts a connection as idle only after its first request. Clients also connect ahead of their next request. */
function closeIdleSockets(server: Server): void {
  server.closeIdleConnections()
  for (const socket of openSockets.get(server) ?? []) if (socket.bytesRead === 0) socket.destroy()
}
