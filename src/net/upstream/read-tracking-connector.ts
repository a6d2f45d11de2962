// Connections to model servers, with the number of bytes that came before they broke.
// The server may not have read the last request on a kept connection.
import type { buildConnector } from 'undici'
import { throttleResponseReads } from '../response-read-throttling.ts'

const bytesReadByError = new WeakMap<object, number>()

/** Connects as the library does, and throttles reads. */
export function trackReadBytes(connector: buildConnector.connector): buildConnector.connector {
  return (options, done) =>
    connector(options, (...[error, socket]) => {
      if (error) return done(error, null)
      // This listener runs before the library's, which passes on the same error.
      socket.on('error', (failure) => bytesReadByError.set(failure, socket.bytesRead))
      throttleResponseReads(socket)
      done(null, socket)
    })
}

/** Returns the bytes that the connection had received in all when it broke with this error. 0 where that is unknown. */
export function countBytesReadBefore(error: object): number {
  const { socket } = error as { socket?: { bytesRead?: number } | null }
  return bytesReadByError.get(error) ?? socket?.bytesRead ?? 0
}
