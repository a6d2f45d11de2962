// Requests that are answered before their body is read, as all refusals are: what is left of a long body ends with the connection.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { closeLingering } from '../../net/lingering-close.ts'
import { isAwaitingContinue } from './expect-continue.ts'

/** So much Node reads ahead of whoever wants it: what is no longer is dropped, and the connection kept. */
const MAX_DRAINED_BYTES = 65_536
const LINGER_MS = 1_000

/**
 * Closes the connection after an answer that comes before the end of a long body, or of one without a length. Node would read
 * such a body to its end, piece by piece, however long that takes. The client has a moment to see its answer. So it is where a client waits
 * to be asked for its body: whether it comes after a refusal nobody can tell.
 */
export function closeIfBodyUnread(request: IncomingMessage, response: ServerResponse): void {
  if (mayHaveLongBody(request) || isAwaitingContinue(request)) closeWithUnreadBody(request, response)
}

/** The same for a body of whatever length, once nothing more of it is waited for. */
export function closeWithUnreadBody(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request
  const { shouldKeepAlive } = response
  const { destroySoon } = socket
  response.shouldKeepAlive = false
  // What Node calls after the last answer of a connection.
  socket.destroySoon = () => {
    // It may have been stopped for want of a reader.
    request.resume()
    closeLingering(socket, LINGER_MS)
  }
  request.once('end', () => {
    response.shouldKeepAlive = shouldKeepAlive
    socket.destroySoon = destroySoon
  })
}

function mayHaveLongBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > MAX_DRAINED_BYTES
}
