// Room for the bytes of large bodies, from before they are read until they are parsed: whoever begins many and does not end them takes no more than a
// part of what there is.
import type { Request, RequestHandler, Response } from 'express'
import type { MemoryAccount } from '../payloads/memory-account.ts'
import { callerKey } from './locals.ts'
import { whenClosed } from './when-closed.ts'

/** Bytes of a body that is not counted: about as much waits for a reader of any connection. */
const SMALL = 65_536

/** Not a WeakMap: see when-closed.ts. */
const ROOM = Symbol('room')

type Roomy = Request & { [ROOM]?: () => void }

/**
 * Waits for room for the body of a request, and reads nothing of it meanwhile. Fails with SERVICE_UNAVAILABLE where there is none in time. `largest`: bytes that a
 * body may have.
 */
export function roomForBody(received: MemoryAccount, largest: number): RequestHandler {
  return (request, response, next) => {
    const bytes = bytesOf(request, largest)
    // What is too large is refused by whoever reads it.
    if (bytes <= SMALL || bytes > largest) return next()
    received.take(callerKey(response), bytes).then((release) => {
      holdUntilClosed(request, response, release)
      next()
    }, next)
  }
}

/** Gives the room of a body back, which is parsed. */
export function leaveRoom(request: Roomy): void {
  request[ROOM]?.()
}

function holdUntilClosed(request: Roomy, response: Response, release: () => void): void {
  request[ROOM] = release
  if (response.closed) release()
  else whenClosed(response, release)
}

/** As it was announced; the most that it may have where nobody knows before, as of what is compressed. */
function bytesOf({ headers }: Request, largest: number): number {
  const length = headers['content-length']
  if (headers['content-encoding'] === undefined && length !== undefined) return Number(length)
  return length === undefined && headers['transfer-encoding'] === undefined ? 0 : largest
}
