// Requests that come before the answers to earlier ones of their connection have gone: each waits until those have. So what one asks for is done when
// the next is looked at (RFC 9112, section 9.3.2), and whoever asks for a thousand files and reads none has one of them open.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { RequestHandler } from 'express'
import { ServiceError } from '../../errors.ts'
import { heapShareBytes } from '../../payloads/fair-memory-account.ts'
import { RequestScheduler } from '../pipeline/request-scheduler.ts'
import { networkKeyOf } from './connection-limits.ts'
import { onResponseClose } from './response-close-callbacks.ts'

/** A packet may hold more than a thousand requests. */
const MAX_WAITING_PER_CONNECTION = 100

/** The part of the heap that requests may take that wait, those of all connections together. */
const WAITING_HEAP_PART = 1 / 16
/** About what each of them takes, however short it is. */
const REQUEST_BYTES = 4_096

type Serve = (request: IncomingMessage, response: ServerResponse) => void

/** That a request came when too many waited. */
const IS_EXCESS_REQUEST = Symbol('is one too many')

type MarkedRequest = { [IS_EXCESS_REQUEST]?: true }

/** How many may wait on all connections together. */
function computeMaxWaiting(): number {
  return Math.floor(heapShareBytes(WAITING_HEAP_PART) / REQUEST_BYTES)
}

/**
 * Serves one request of a connection at a time. While too many wait, nothing more is read from it. Of what was read already a packet holds thousands: where more
 * wait than `most`, on all connections together, one that has more than its part of them is cut.
 */
export function serializeRequests(serve: Serve, max_waiting = computeMaxWaiting()): Serve {
  const queues = new Map<Socket, (() => void)[]>()
  const scheduler = new RequestScheduler()
  let waiting = 0
  const clearQueue = (socket: Socket, line: (() => void)[]) => {
    waiting -= line.length
    line.length = 0
    queues.delete(socket)
  }
  const runNext = (socket: Socket, line: (() => void)[]) => {
    const next = socket.writable ? line.shift() : undefined
    if (!next) return clearQueue(socket, line)
    waiting--
    if (line.length === MAX_WAITING_PER_CONNECTION) resumeReading(socket)
    next()
  }
  const begin = (request: IncomingMessage, response: ServerResponse, line: (() => void)[]) => {
    const { socket } = request
    onResponseClose(response, () => {
      // Each in a later turn of the event loop, and those of all connections for a while of it: all that wait would hold it together.
      if (line.length > 0) setImmediate(() => scheduler.schedule(networkKeyOf(socket), () => runNext(socket, line)))
      else queues.delete(socket)
    })
    serve(request, response)
  }
  return (request, response) => {
    const { socket } = request
    // Behind the last answer of a connection nothing is done (RFC 9112, section 9.6): nobody could be told of it.
    if (!socket.writable) return void suppressDestroy(request)
    const line = queues.get(socket)
    if (!line) {
      const own: (() => void)[] = []
      queues.set(socket, own)
      return begin(request, response, own)
    }
    const wake = suppressDestroy(request)
    if (waiting >= max_waiting && line.length >= max_waiting / queues.size) {
      socket.destroy()
      return
    }
    if (line.length >= MAX_WAITING_PER_CONNECTION) {
      Object.assign(request, { [IS_EXCESS_REQUEST]: true } satisfies MarkedRequest)
      stopReading(socket)
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
function suppressDestroy(request: IncomingMessage): () => void {
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
function stopReading(socket: Socket & { _paused?: boolean }): void {
  socket._paused = true
  socket.pause()
}

/** As Node reads on when answers have been sent. */
function resumeReading(socket: Socket): void {
  socket.emit('drain')
}

/** Refuses requests that came when too many waited, with RATE_LIMITED, when their turn has come. */
export const rejectExcessRequests: RequestHandler = (request, _response, next) => {
  if (!(request as MarkedRequest)[IS_EXCESS_REQUEST]) return next()
  const message = 'Too many requests wait on this connection: read the answers to those that came before.'
  throw new ServiceError('RATE_LIMITED', { message, headers: { 'Retry-After': '1' } })
}
