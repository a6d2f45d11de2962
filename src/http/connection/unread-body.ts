// Ends connections whose request is answered before its body is read, as with all refusals. The rest of a long body ends with the connection.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { closeLingering } from '../../net/lingering-close.ts'
import { isAwaitingContinue } from './expect-continue.ts'

/** Node reads this many bytes ahead of the reader. The rest of a shorter body is dropped, and the connection kept. */
const MAX_DRAINED_BYTES = 65_536
const LINGER_MS = 1_000

/**
 * Closes the connection after a response that comes before the end of a long body, or of a body without a length: Node would read it to its end,
 * however long that takes. The client has a moment to read the response. The same holds for a client that waits for 100 Continue, since it may send
 * its body or not.
 */
export function closeIfBodyUnread(request: IncomingMessage, response: ServerResponse): void {
  if (mayHaveLongBody(request) || isAwaitingContinue(request)) closeWithUnreadBody(request, response)
}

/** The same for a body of any length, once no reader waits for more of it. */
export function closeWithUnreadBody(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request
  const { shouldKeepAlive } = response
  const { destroySoon } = socket
  response.shouldKeepAlive = false
  // Node calls this after the last response of a connection.
  socket.destroySoon = () => {
    // Without a reader the request may be paused.
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
