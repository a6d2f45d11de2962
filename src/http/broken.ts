// Faults in what a connection brings: whoever is owed an answer gets one, made by whoever reads the body, and then the connection ends.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ServiceError } from '../errors.ts'
import { answerUnheard, type Unheard } from './unheard.ts'
import { whenClosed } from './when-closed.ts'

type Tell = (error: ServiceError) => void

const broken = new WeakMap<IncomingMessage, ServiceError>()

/** Not a WeakMap: see when-closed.ts. */
const LISTENERS = Symbol('listeners')

type Listened = IncomingMessage & { [LISTENERS]?: Tell[] }

/** Tells whoever reads a body that nothing more will come of it; at once where that is known. */
export function whenBroken(request: Listened, tell: Tell): void {
  const error = broken.get(request)
  if (error) return tell(error)
  request[LISTENERS] ??= []
  request[LISTENERS].push(tell)
}

function breakBody(request: Listened, error: ServiceError): void {
  broken.set(request, error)
  for (const tell of request[LISTENERS] ?? []) tell(error)
}

/** What Node's parser says of a body. */
function faultOf(code: string): ServiceError {
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW')
    return new ServiceError('REQUEST_TOO_LARGE', { message: 'The pieces of the body say too much besides it.' })
  const message = code === 'HPE_INVALID_EOF_STATE' ? 'was cut off' : 'is not what its transfer coding says'
  return new ServiceError('INVALID_REQUEST', { message: `/body: ${message}`, problems: [{ path: '/body', message }] })
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Answers that the connection owes, this one included. */
  owed: number
}

/** What each connection was asked last, and what becomes of it where it brings something that is no HTTP. */
export class Exchanges {
  readonly #last = new WeakMap<Socket, Exchange>()
  readonly #ending = new WeakSet<Socket>()
  /** Those that were answered here, and are about to close. */
  readonly #told = new WeakSet<Socket>()

  constructor(server: Server) {
    server.on('request', (request, response) => {
      const { socket } = request
      this.#last.set(socket, { request, response, owed: (this.#last.get(socket)?.owed ?? 0) + 1 })
      whenClosed(response, () => this.#answered(socket))
    })
  }

  owes(socket: Socket): boolean {
    return (this.#last.get(socket)?.owed ?? 0) > 0
  }

  /** Whether a fault is taken care of. Those of a head that nobody was told of are for `answer`, and so is silence. */
  settle({ code }: NodeJS.ErrnoException, socket: Socket): boolean {
    const last = this.#last.get(socket)
    if (!last || !code?.startsWith('HPE_')) return false
    if (this.#ending.has(socket)) return true
    this.#ending.add(socket)
    const { request, response } = last
    if (!closeBehind(response, socket)) socket.destroy()
    else if (!request.complete) breakBody(request, faultOf(code))
    return true
  }

  /** Answers in the place of Node; false where an answer is on its way already, and for faults that are Node's to settle. */
  answer(error: NodeJS.ErrnoException, socket: Socket, unheard: Unheard): boolean {
    if (this.#told.has(socket)) return true
    const last = this.#last.get(socket)
    // Where others are answered before it, one of these answers may have begun.
    const mayBeIn = last !== undefined && (last.owed > 1 || last.response.headersSent)
    if (mayBeIn || !answerUnheard(error, socket, last !== undefined, unheard)) return endIn(socket, mayBeIn)
    this.#told.add(socket)
    return true
  }

  /** What nothing is left to come of is forgotten: a connection may stay for long. */
  #answered(socket: Socket): void {
    const last = this.#last.get(socket)
    if (!last) return
    last.owed -= 1
    if (last.owed === 0 && last.request.complete) this.#last.delete(socket)
  }
}

/** Ends a connection in the middle of an answer, into which nothing else may be written; gives whether it did. */
function endIn(socket: Socket, isInAnswer: boolean): boolean {
  if (isInAnswer) socket.destroy()
  return isInAnswer
}

/** Ends a connection with an answer, begun or not; false for one in the middle of which it is. */
function closeBehind(response: ServerResponse, socket: Socket): boolean {
  if (!response.headersSent) response.shouldKeepAlive = false
  else if (!response.writableEnded) return false
  else if (response.closed) socket.destroySoon()
  else whenClosed(response, () => socket.destroySoon())
  return true
}
