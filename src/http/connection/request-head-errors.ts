// Responses to malformed request heads: too large, too late, or no HTTP. Handlers never see such requests.
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { errorBodies, ServiceError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { closeLingering } from '../../net/lingering-close.ts'

/** Milliseconds in which a peer may read its response. */
const LINGER_MS = 1_000

export interface HeadErrorContext {
  readonly log: Log
  /** Makes the request id for the response and the log. */
  newId(): string
}

/**
 * Responds and ends the connection. Returns false for a fault that Node handles, which is not of a head. `hasRequest`: a handler is at work whose
 * response has not begun. Nothing of what the client sent is repeated or logged.
 */
export function sendHeadErrorResponse(
  { code }: NodeJS.ErrnoException,
  socket: Socket,
  hasRequest: boolean,
  { log, newId }: HeadErrorContext,
): boolean {
  const error = toHeadError(code)
  if (!error || !socket.writable) return false
  const request_id = newId()
  log.debug({ request_id, status: error.status, fault: code }, 'malformed request head')
  socket.write(formatErrorResponse(error, request_id))
  // The handler at work learns at once that its response cannot be sent.
  if (hasRequest) socket.destroy()
  else closeLingering(socket, LINGER_MS)
  return true
}

function toHeadError(code: string | undefined): ServiceError | null {
  if (code === 'HPE_HEADER_OVERFLOW') return new ServiceError('REQUEST_HEAD_TOO_LARGE')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ServiceError('REQUEST_TIMEOUT')
  return code?.startsWith('HPE_')
    ? new ServiceError('INVALID_REQUEST', { message: 'The request is not valid HTTP.' })
    : null
}

/** Errors have the form of `/api`, whatever was requested: the path may be unreadable. */
function formatErrorResponse(error: ServiceError, request_id: string): string {
  const { status } = error
  const body = JSON.stringify(errorBodies.api(error))
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${request_id}`,
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}
