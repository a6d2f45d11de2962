// Room for the bytes of large bodies, from before they are read until they are parsed: whoever begins many and does not end them takes no more than a
// part of what there is.
import type { Request, RequestHandler, Response } from 'express'
import type { FairMemoryAccount } from '../../payloads/fair-memory-account.ts'
import { onResponseClose } from '../connection/response-close-callbacks.ts'
import { callerKey } from '../pipeline/response-locals.ts'

/** Bytes of a body that is not counted: about as much waits for a reader of any connection. */
const UNCOUNTED_BYTES = 65_536

/** Not a WeakMap: see when-closed.ts. */
const RESERVATION = Symbol('room')

type RequestWithReservation = Request & { [RESERVATION]?: () => void }

/**
 * Waits for room for the body of a request, and reads nothing of it meanwhile. Fails with SERVICE_UNAVAILABLE where there is none in time. `largest`: bytes that a
 * body may have.
 */
export function reserveBodyMemory(received: FairMemoryAccount, max_bytes: number): RequestHandler {
  return (request, response, next) => {
    const bytes = estimateBodyBytes(request, max_bytes)
    // What is too large is refused by whoever reads it.
    if (bytes <= UNCOUNTED_BYTES || bytes > max_bytes) return next()
    received.take(callerKey(response), bytes).then((release) => {
      holdUntilClosed(request, response, release)
      next()
    }, next)
  }
}

/** Gives the room of a body back, which is parsed. */
export function releaseBodyMemory(request: RequestWithReservation): void {
  request[RESERVATION]?.()
}

function holdUntilClosed(request: RequestWithReservation, response: Response, release: () => void): void {
  request[RESERVATION] = release
  if (response.closed) release()
  else onResponseClose(response, release)
}

/** As it was announced; the most that it may have where nobody knows before, as of what is compressed. */
function estimateBodyBytes({ headers }: Request, max_bytes: number): number {
  const length = headers['content-length']
  if (headers['content-encoding'] === undefined && length !== undefined) return Number(length)
  return length === undefined && headers['transfer-encoding'] === undefined ? 0 : max_bytes
}
