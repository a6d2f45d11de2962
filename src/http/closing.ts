// The end of a listener: answers that are under way go out, and nobody waits for those who ask nothing.
import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** For the last answers, in milliseconds. */
const LAST_ANSWERS_MS = 2_000
const IDLE_CHECK_MS = 20

const connected = new WeakMap<Server, Set<Socket>>()

/** Keeps account of the connections of a listener, so that it can be closed in time. */
export function watchConnections(server: Server): void {
  const sockets = new Set<Socket>()
  connected.set(server, sockets)
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
}

/** Takes no more connections, lets the answers that are under way go out, and cuts what is left after that. */
export function closeListener(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const idle = setInterval(() => closeIdle(server), IDLE_CHECK_MS)
    const cut = setTimeout(() => server.closeAllConnections(), LAST_ANSWERS_MS)
    server.close(() => {
      clearInterval(idle)
      clearTimeout(cut)
      resolve()
    })
    closeIdle(server)
  })
}

/** Node counts as idle only what was asked before. Clients connect ahead of their next request as well, some whenever they leave an answer. */
function closeIdle(server: Server): void {
  server.closeIdleConnections()
  for (const socket of connected.get(server) ?? []) if (socket.bytesRead === 0) socket.destroy()
}
