// Connections to servers of models, and what came over them before they broke: of one that was kept nobody may have read the last request.
import type { buildConnector } from 'undici'
import { throttleResponseReads } from '../response-read-throttling.ts'

const bytesReadByError = new WeakMap<object, number>()

/** Connects as the library does, which is to read in turns. */
export function trackReadBytes(connector: buildConnector.connector): buildConnector.connector {
  return (options, done) =>
    connector(options, (...[error, socket]) => {
      if (error) return done(error, null)
      // It is told before the library, which hands the same error on.
      socket.on('error', (failure) => bytesReadByError.set(failure, socket.bytesRead))
      throttleResponseReads(socket)
      done(null, socket)
    })
}

/** Bytes that the connection had brought, over its whole life, when it broke with this error; 0 where that is not known. */
export function countBytesReadBefore(error: object): number {
  const { socket } = error as { socket?: { bytesRead?: number } | null }
  return bytesReadByError.get(error) ?? socket?.bytesRead ?? 0
}
