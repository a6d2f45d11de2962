// Requests that come before the answers to earlier ones of their connection have gone: each waits until those have. So what one asks for is done when
// the next is looked at (RFC 9112, section 9.3.2), and whoever asks for a thousand files and reads none has one of them open.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { RequestHandler } from 'express'
import { ServiceError } from '../errors.ts'
import { heapBytes } from '../payloads/memory-account.ts'
import { originOf } from './connections.ts'
import { FairLine } from './fair-line.ts'
import { whenClosed } from './when-closed.ts'

/** A packet may hold more than a thousand requests. */
const MOST_WAITING = 100

/** The part of the heap that requests may take that wait, those of all connections together. */
const PART_OF_HEAP = 1 / 16
/** About what each of them takes, however short it is. */
const REQUEST_BYTES = 4_096

type Serve = (request: IncomingMessage, response: ServerResponse) => void

/** That a request came when too many waited. */
const IS_ONE_TOO_MANY = Symbol('is one too many')

type Marked = { [IS_ONE_TOO_MANY]?: true }

/** How many may wait on all connections together. */
function waitingAtMost(): number {
  return Math.floor(heapBytes(PART_OF_HEAP) / REQUEST_BYTES)
}

/**
 * Serves one request of a connection at a time. While too many wait, nothing more is read from it. Of what was read already a packet holds thousands: where more
 * wait than `most`, on all connections together, one that has more than its part of them is cut.
 */
export function inTurn(serve: Serve, most = waitingAtMost()): Serve {
  const lines = new Map<Socket, (() => void)[]>()
  const due = new FairLine()
  let waiting = 0
  const leave = (socket: Socket, line: (() => void)[]) => {
    waiting -= line.length
    line.length = 0
    lines.delete(socket)
  }
  const goOn = (socket: Socket, line: (() => void)[]) => {
    const next = socket.writable ? line.shift() : undefined
    if (!next) return leave(socket, line)
    waiting--
    if (line.length === MOST_WAITING) readOn(socket)
    next()
  }
  const begin = (request: IncomingMessage, response: ServerResponse, line: (() => void)[]) => {
    const { socket } = request
    whenClosed(response, () => {
      // Each in a later turn of the event loop, and those of all connections for a while of it: all that wait would hold it together.
      if (line.length > 0) setImmediate(() => due.enter(originOf(socket), () => goOn(socket, line)))
      else lines.delete(socket)
    })
    serve(request, response)
  }
  return (request, response) => {
    const { socket } = request
    // Behind the last answer of a connection nothing is done (RFC 9112, section 9.6): nobody could be told of it.
    if (!socket.writable) return void asleep(request)
    const line = lines.get(socket)
    if (!line) {
      const own: (() => void)[] = []
      lines.set(socket, own)
      return begin(request, response, own)
    }
    const wake = asleep(request)
    if (waiting >= most && line.length >= most / lines.size) {
      socket.destroy()
      return
    }
    if (line.length >= MOST_WAITING) {
      Object.assign(request, { [IS_ONE_TOO_MANY]: true } satisfies Marked)
      hold(socket)
    }
    waiting++
    line.push(() => {
      wake()
      begin(request, response, line)
    })
  }
}

/**
 * When a connection closes, Node destroys each of its requests, and tells whoever listens to it. Of one that still waits nobody has heard: to destroy the thousands
 * that some connections brought in a packet each would hold the event loop. Gives what wakes it when its turn has come.
 */
function asleep(request: IncomingMessage): () => void {
  const { destroy } = request
  request.destroy = () => request
  return () => {
    request.destroy = destroy
  }
}

/**
 * Reads nothing more from a connection until `readOn`. To pause it is not enough: Node resumes it itself behind each request that it has read, unless it
 * has paused it itself, as it does where too many answers wait to be sent. This is the mark that it makes then.
 */
function hold(socket: Socket & { _paused?: boolean }): void {
  socket._paused = true
  socket.pause()
}

/** As Node reads on when answers have been sent. */
function readOn(socket: Socket): void {
  socket.emit('drain')
}

/** Refuses requests that came when too many waited, with RATE_LIMITED, when their turn has come. */
export const refuseTooMany: RequestHandler = (request, _response, next) => {
  if (!(request as Marked)[IS_ONE_TOO_MANY]) return next()
  const message = 'Too many requests wait on this connection: read the answers to those that came before.'
  throw new ServiceError('RATE_LIMITED', { message, headers: { 'Retry-After': '1' } })
}
