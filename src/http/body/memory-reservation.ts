// Reserves memory for large bodies from before they are read until they are parsed. A caller who begins many and does not end them gets only a part
// of it.
import type { Request, RequestHandler, Response } from 'express'
import type { FairMemoryAccount } from '../../payloads/fair-memory-account.ts'
import { onResponseClose } from '../connection/response-close-callbacks.ts'
import { callerKey } from '../pipeline/response-locals.ts'

/** Bytes up to which a body is not counted: about as much is buffered for any connection. */
const UNCOUNTED_BYTES = 65_536

/** Not a WeakMap: see response-close-callbacks.ts. */
const RESERVATION = Symbol('room')

type RequestWithReservation = Request & { [RESERVATION]?: () => void }

/**
 * Waits for memory for the body of a request, and reads nothing of it meanwhile. Fails with SERVICE_UNAVAILABLE if there is none in time. `max_bytes`
 * is the limit of the body.
 */
export function reserveBodyMemory(received: FairMemoryAccount, max_bytes: number): RequestHandler {
  return (request, response, next) => {
    const bytes = estimateBodyBytes(request, max_bytes)
    // The reader of the body refuses it if it is too large.
    if (bytes <= UNCOUNTED_BYTES || bytes > max_bytes) return next()
    received.take(callerKey(response), bytes).then((release) => {
      holdUntilClosed(request, response, release)
      next()
    }, next)
  }
}

/** Releases the memory of a body that is parsed. */
export function releaseBodyMemory(request: RequestWithReservation): void {
  request[RESERVATION]?.()
}

function holdUntilClosed(request: RequestWithReservation, response: Response, release: () => void): void {
  request[RESERVATION] = release
  if (response.closed) release()
  else onResponseClose(response, release)
}

/** The announced length; the limit where the length is unknown before, as of a compressed body. */
function estimateBodyBytes({ headers }: Request, max_bytes: number): number {
  const length = headers['content-length']
  if (headers['content-encoding'] === undefined && length !== undefined) return Number(length)
  return length === undefined && headers['transfer-encoding'] === undefined ? 0 : max_bytes
}
