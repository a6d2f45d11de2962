// How an upgrade is refused: by a status alone, after which the socket is free.
import type { Duplex } from 'node:stream'

export type RefusalStatus =
  | '400 Bad Request'
  | '401 Unauthorized'
  | '404 Not Found'
  | '429 Too Many Requests'
  | '500 Internal Server Error'
  | '503 Service Unavailable'

/**
 * Answers without a body. The descriptor is free as soon as the peer closes its side, and after `linger_ms` (milliseconds) at the latest.
 * Closing at once, with something unread, would reset the connection, and the peer might never see the answer (RFC 9112, section 9.6).
 */
export function refuse(
  socket: Duplex,
  status: RefusalStatus,
  linger_ms: number,
  headers: Readonly<Record<string, string | number>> = {},
): void {
  if (socket.destroyed) return
  const cut = setTimeout(() => socket.destroy(), linger_ms)
  socket.once('close', () => clearTimeout(cut))
  const lines = Object.entries({ Connection: 'close', 'Content-Length': 0, ...headers })
  socket.end(`HTTP/1.1 ${status}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)
  socket.resume()
}
