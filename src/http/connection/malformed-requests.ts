// Faults in what a connection brings: whoever is owed an answer gets one, made by whoever reads the body, and then the connection ends.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ServiceError } from '../../errors.ts'
import { type HeadErrorContext, sendHeadErrorResponse } from './request-head-errors.ts'
import { onResponseClose } from './response-close-callbacks.ts'

type FailureListener = (error: ServiceError) => void

const bodyErrors = new WeakMap<IncomingMessage, ServiceError>()

/** Not a WeakMap: see when-closed.ts. */
const FAILURE_LISTENERS = Symbol('listeners')

type RequestWithListeners = IncomingMessage & { [FAILURE_LISTENERS]?: FailureListener[] }

/** Tells whoever reads a body that nothing more will come of it; at once where that is known. */
export function onBodyFailure(request: RequestWithListeners, listener: FailureListener): void {
  const error = bodyErrors.get(request)
  if (error) return listener(error)
  request[FAILURE_LISTENERS] ??= []
  request[FAILURE_LISTENERS].push(listener)
}

function failBody(request: RequestWithListeners, error: ServiceError): void {
  bodyErrors.set(request, error)
  for (const listener of request[FAILURE_LISTENERS] ?? []) listener(error)
}

/** What Node's parser says of a body. */
function toBodyError(code: string): ServiceError {
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW')
    return new ServiceError('REQUEST_TOO_LARGE', { message: 'The pieces of the body say too much besides it.' })
  const message = code === 'HPE_INVALID_EOF_STATE' ? 'was cut off' : 'is not what its transfer coding says'
  return new ServiceError('INVALID_REQUEST', { message: `/body: ${message}`, problems: [{ path: '/body', message }] })
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Answers that the connection owes, this one included. */
  pending: number
}

/** What each connection was asked last, and what becomes of it where it brings something that is no HTTP. */
export class ExchangeTracker {
  readonly #lastExchange = new WeakMap<Socket, Exchange>()
  readonly #ending = new WeakSet<Socket>()
  /** Those that were answered here, and are about to close. */
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

  /** Whether a fault is taken care of. Those of a head that nobody was told of are for `answer`, and so is silence. */
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

  /** Answers in the place of Node; false where an answer is on its way already, and for faults that are Node's to settle. */
  sendHeadError(error: NodeJS.ErrnoException, socket: Socket, context: HeadErrorContext): boolean {
    if (this.#answeredSockets.has(socket)) return true
    const last = this.#lastExchange.get(socket)
    // Where others are answered before it, one of these answers may have begun.
    const mayBeIn = last !== undefined && (last.pending > 1 || last.response.headersSent)
    if (mayBeIn || !sendHeadErrorResponse(error, socket, last !== undefined, context))
      return destroyIfResponding(socket, mayBeIn)
    this.#answeredSockets.add(socket)
    return true
  }

  /** What nothing is left to come of is forgotten: a connection may stay for long. */
  #onResponseClosed(socket: Socket): void {
    const last = this.#lastExchange.get(socket)
    if (!last) return
    last.pending -= 1
    if (last.pending === 0 && last.request.complete) this.#lastExchange.delete(socket)
  }
}

/** Ends a connection in the middle of an answer, into which nothing else may be written; gives whether it did. */
function destroyIfResponding(socket: Socket, isResponding: boolean): boolean {
  if (isResponding) socket.destroy()
  return isResponding
}

/** Ends a connection with an answer, begun or not; false for one in the middle of which it is. */
function closeAfterResponse(response: ServerResponse, socket: Socket): boolean {
  if (!response.headersSent) response.shouldKeepAlive = false
  else if (!response.writableEnded) return false
  else if (response.closed) socket.destroySoon()
  else onResponseClose(response, () => socket.destroySoon())
  return true
}
