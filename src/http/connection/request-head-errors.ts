// Answers to what is no request yet: a head that is too large, that does not come in time, or that is no HTTP. No handler hears of them.
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { errorBodies, ServiceError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { closeLingering } from '../../net/lingering-close.ts'

/** How long a peer may take to see its answer, in milliseconds. */
const LINGER_MS = 1_000

export interface HeadErrorContext {
  readonly log: Log
  /** Makes the id that the answer and the log give to what was sent. */
  newId(): string
}

/**
 * Answers and ends a connection of which nothing more is read; false for a fault that is none of a head, which is Node's to settle. `asked`: a
 * handler is at work, whose answer has not begun. Nothing of what was sent is repeated, nor written down.
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
  log.debug({ request_id, status: error.status, fault: code }, 'what a connection brought was no request')
  socket.write(formatErrorResponse(error, request_id))
  // Whoever makes an answer hears at once that nobody will have it.
  if (hasRequest) socket.destroy()
  else closeLingering(socket, LINGER_MS)
  return true
}

function toHeadError(code: string | undefined): ServiceError | null {
  if (code === 'HPE_HEADER_OVERFLOW') return new ServiceError('REQUEST_HEAD_TOO_LARGE')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ServiceError('REQUEST_TIMEOUT')
  return code?.startsWith('HPE_') ? new ServiceError('INVALID_REQUEST', { message: 'This is no HTTP request.' }) : null
}

/** Its form is that of `/api`, whatever was asked for: the path may be what could not be read. */
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
