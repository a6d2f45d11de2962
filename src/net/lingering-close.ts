// The end of a connection whose peer may still be sending: long enough for it to see its answer, and no longer.
import type { Duplex } from 'node:stream'

/** A client that sends first and reads afterwards gets through what the kernels hold and this: an answer for bodies of 1 MiB and more. */
const MAX_DISCARDED_BYTES = 2 * 1024 * 1024

/**
 * Ends our side once all is sent, and drops what the peer says until it ends its own: for `linger_ms` (milliseconds) and 2 MiB at most.
 * Closing at once, with something unread, would reset the connection, and the peer might never see its answer (RFC 9112, section 9.6).
 * Whoever listened to the socket before hears no more of its data.
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
