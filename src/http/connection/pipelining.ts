// Pipelined requests wait until the responses to earlier requests of their connection have gone (RFC 9112, section 9.3.2). So a request sees the
// effect of the one before, and a client that requests a thousand files and reads none has one of them open.
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

/** The part of the heap that waiting requests of all connections may take. */
const WAITING_HEAP_PART = 1 / 16
/** About the memory of a waiting request, however short it is. */
const REQUEST_BYTES = 4_096

type Serve = (request: IncomingMessage, response: ServerResponse) => void

/** Marks a request that came when too many waited. */
const IS_EXCESS_REQUEST = Symbol('is one too many')

type MarkedRequest = { [IS_EXCESS_REQUEST]?: true }

/** The number of requests that may wait on all connections together. */
function computeMaxWaiting(): number {
  return Math.floor(heapShareBytes(WAITING_HEAP_PART) / REQUEST_BYTES)
}

/**
 * Serves one request of a connection at a time. While too many wait, nothing more is read from the connection; but a packet that was read may hold
 * thousands. If more than `max_waiting` requests wait on all connections, a connection with more than its share is destroyed.
 */
export function serializeRequests(serve: Serve, max_waiting = computeMaxWaiting()): Serve {
  const queues = new Map<Socket, (() => void)[]>()
  const scheduler = new RequestScheduler()
  let waiting = 0
  const clearQueue = (socket: Socket, queue: (() => void)[]) => {
    waiting -= queue.length
    queue.length = 0
    queues.delete(socket)
  }
  const runNext = (socket: Socket, queue: (() => void)[]) => {
    const next = socket.writable ? queue.shift() : undefined
    if (!next) return clearQueue(socket, queue)
    waiting--
    if (queue.length === MAX_WAITING_PER_CONNECTION) resumeReading(socket)
    next()
  }
  const begin = (request: IncomingMessage, response: ServerResponse, queue: (() => void)[]) => {
    const { socket } = request
    onResponseClose(response, () => {
      // Each request starts in a later turn of the event loop, within the scheduler's share of it: all at once would block the loop.
      if (queue.length > 0) setImmediate(() => scheduler.schedule(networkKeyOf(socket), () => runNext(socket, queue)))
      else queues.delete(socket)
    })
    serve(request, response)
  }
  return (request, response) => {
    const { socket } = request
    // After the last response of a connection no request is processed (RFC 9112, section 9.6): its response could not be sent.
    if (!socket.writable) return void suppressDestroy(request)
    const queue = queues.get(socket)
    if (!queue) {
      const own: (() => void)[] = []
      queues.set(socket, own)
      return begin(request, response, own)
    }
    const restoreDestroy = suppressDestroy(request)
    if (waiting >= max_waiting && queue.length >= max_waiting / queues.size) {
      socket.destroy()
      return
    }
    if (queue.length >= MAX_WAITING_PER_CONNECTION) {
      Object.assign(request, { [IS_EXCESS_REQUEST]: true } satisfies MarkedRequest)
      stopReading(socket)
    }
    waiting++
    queue.push(() => {
      restoreDestroy()
      begin(request, response, queue)
    })
  }
}

/**
 * When a connection closes, Node destroys each of its requests, and notifies their listeners. A waiting request has no listeners yet: destroying the
 * thousands that some connections sent in a packet each would block the event loop. Returns a function that restores `destroy`.
 */
function suppressDestroy(request: IncomingMessage): () => void {
  const { destroy } = request
  request.destroy = () => request
  return () => {
    request.destroy = destroy
  }
}

/**
 * Reads nothing more from a connection until `resumeReading`. `pause` is not enough: Node resumes a socket after each request that it has read,
 * unless its flag `_paused` is set. Node sets that flag itself where too many responses wait to be sent.
 */
function stopReading(socket: Socket & { _paused?: boolean }): void {
  socket._paused = true
  socket.pause()
}

/** Node reads on after `drain`, as it does when responses have been sent. */
function resumeReading(socket: Socket): void {
  socket.emit('drain')
}

/** When its turn has come, refuses a request that came when too many waited, with RATE_LIMITED. */
export const rejectExcessRequests: RequestHandler = (request, _response, next) => {
  if (!(request as MarkedRequest)[IS_EXCESS_REQUEST]) return next()
  const message = 'Too many requests wait on this connection. Read the responses to earlier requests first.'
  throw new ServiceError('RATE_LIMITED', { message, headers: { 'Retry-After': '1' } })
}
