// How an upgrade is refused: by a status alone, after which the socket is free.
import type { Duplex } from 'node:stream'
import { linger } from '../net/linger.ts'

export type RefusalStatus =
  | '400 Bad Request'
  | '401 Unauthorized'
  | '404 Not Found'
  | '429 Too Many Requests'
  | '500 Internal Server Error'
  | '503 Service Unavailable'

/** Answers without a body. The descriptor is free as soon as the peer closes its side, and after `linger_ms` (milliseconds) at the latest. */
export function refuse(
  socket: Duplex,
  status: RefusalStatus,
  linger_ms: number,
  headers: Readonly<Record<string, string | number>> = {},
): void {
  if (socket.destroyed) return
  const lines = Object.entries({ Connection: 'close', 'Content-Length': 0, ...headers })
  socket.write(`HTTP/1.1 ${status}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)
  linger(socket, linger_ms)
}
