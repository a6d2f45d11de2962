// Handles malformed requests: if a response is due, the reader of the body makes it; then the connection ends.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ServiceError } from '../../errors.ts'
import { type HeadErrorContext, sendHeadErrorResponse } from './request-head-errors.ts'
import { onResponseClose } from './response-close-callbacks.ts'

type FailureListener = (error: ServiceError) => void

const bodyErrors = new WeakMap<IncomingMessage, ServiceError>()

/** Not a WeakMap: see response-close-callbacks.ts. */
const FAILURE_LISTENERS = Symbol('listeners')

type RequestWithListeners = IncomingMessage & { [FAILURE_LISTENERS]?: FailureListener[] }

/** Tells the reader of a body that nothing more of it will come; at once if that is known already. */
export function onBodyFailure(request: RequestWithListeners, listener: FailureListener): void {
  const error = bodyErrors.get(request)
  if (error) return listener(error)
  request[FAILURE_LISTENERS] ??= []
  request[FAILURE_LISTENERS].push(listener)
}

/** Has the reader of a body fail with this error, whatever comes of the body. */
export function failBody(request: RequestWithListeners, error: ServiceError): void {
  bodyErrors.set(request, error)
  for (const listener of request[FAILURE_LISTENERS] ?? []) listener(error)
}

/** Translates an error of Node's parser. */
function toBodyError(code: string): ServiceError {
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW')
    return new ServiceError('REQUEST_TOO_LARGE', { message: 'The chunk extensions of the body are too long.' })
  const message = code === 'HPE_INVALID_EOF_STATE' ? 'was cut off' : 'does not match its transfer coding'
  return new ServiceError('INVALID_REQUEST', { message: `/body: ${message}`, problems: [{ path: '/body', message }] })
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Responses that the connection still owes, this one included. */
  pending: number
}

/** Keeps the last exchange of each connection, and ends connections that send malformed HTTP. */
export class ExchangeTracker {
  readonly #lastExchange = new WeakMap<Socket, Exchange>()
  readonly #ending = new WeakSet<Socket>()
  /** Connections that got an error response here, and are about to close. */
  readonly #answeredSockets = new WeakSet<Socket>()

  constructor(server: Server) {
    server.on('request', (request, response) => {
      const { socket } = request
      this.#lastExchange.set(socket, { request, response, pending: (this.#lastExchange.get(socket)?.pending ?? 0) + 1 })
      onResponseClose(response, () => this.#onResponseClosed(socket))
    })
  }

  hasPendingResponses(socket: Socket): boolean {
    return (this.#lastExchange.get(socket)?.pending ?? 0) > 0
  }

  /** Returns whether the fault is handled. A fault of a head that no handler saw, or silence, is left to `sendHeadError`. */
  handleBodyError({ code }: NodeJS.ErrnoException, socket: Socket): boolean {
    const last = this.#lastExchange.get(socket)
    if (!last || !code?.startsWith('HPE_')) return false
    if (this.#ending.has(socket)) return true
    this.#ending.add(socket)
    const { request, response } = last
    if (!closeAfterResponse(response, socket)) socket.destroy()
    else if (!request.complete) failBody(request, toBodyError(code))
    return true
  }

  /** Responds instead of Node. Returns false where a response is on its way already, and for faults that Node handles. */
  sendHeadError(error: NodeJS.ErrnoException, socket: Socket, context: HeadErrorContext): boolean {
    if (this.#answeredSockets.has(socket)) return true
    const last = this.#lastExchange.get(socket)
    // If other responses are due before this one, one of them may have begun.
    const isResponding = last !== undefined && (last.pending > 1 || last.response.headersSent)
    if (isResponding || !sendHeadErrorResponse(error, socket, last !== undefined, context))
      return destroyIfResponding(socket, isResponding)
    this.#answeredSockets.add(socket)
    return true
  }

  /** Forgets an exchange that is complete: a connection may stay open for long. */
  #onResponseClosed(socket: Socket): void {
    const last = this.#lastExchange.get(socket)
    if (!last) return
    last.pending -= 1
    if (last.pending === 0 && last.request.complete) this.#lastExchange.delete(socket)
  }
}

/** Ends a connection in the middle of a response, into which nothing else may be written. Returns whether it did. */
function destroyIfResponding(socket: Socket, isResponding: boolean): boolean {
  if (isResponding) socket.destroy()
  return isResponding
}

/** Ends a connection after the response that is due, begun or not. Returns false if the response is half sent. */
function closeAfterResponse(response: ServerResponse, socket: Socket): boolean {
  if (!response.headersSent) response.shouldKeepAlive = false
  else if (!response.writableEnded) return false
  else if (response.closed) socket.destroySoon()
  else onResponseClose(response, () => socket.destroySoon())
  return true
}
