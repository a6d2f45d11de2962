// Closes a connection whose peer may still be sending. The connection stays
// open long enough for the peer to read its answer, and no longer.
import type { Duplex } from 'node:stream'

/**
 * A client may send its whole body before it reads the answer. With this limit
 * and the kernel's buffers, bodies of 1 MiB and more get an answer.
 */
const MAX_DISCARDED_BYTES = 2 * 1024 * 1024

/**
 * Ends our side once everything is sent, and discards incoming bytes until the peer ends its side. The limits are `linger_ms` milliseconds
 * and 2 MiB. Closing at once, with unread bytes, would reset the connection. The peer might then never see its answer (RFC 9112, section
 * 9.6). Earlier listeners of the socket get no more data.
 */
export function closeLingering(socket: Duplex, linger_ms: number): void {
  const cut = setTimeout(() => socket.destroy(), linger_ms)
  socket.once('close', () => clearTimeout(cut))
  let left = MAX_DISCARDED_BYTES
  socket.removeAllListeners('data')
  socket.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) socket.destroy()
  })
  socket.end()
  socket.resume()
}
