// Requests that come before the answers to earlier ones of their connection have gone: each waits until those have. So what one asks for is done when
// the next is looked at (RFC 9112, section 9.3.2), and whoever asks for a thousand files and reads none has one of them open.
import type { Socket } from 'node:net'
import type { RequestHandler, Response } from 'express'
import { ServiceError } from '../errors.ts'
import { whenClosed } from './when-closed.ts'

/** A packet may hold more than a thousand requests. */
const MOST_WAITING = 100

/** Lets one request of a connection go on at a time; refuses those that too many wait before with RATE_LIMITED. */
export function inTurn(): RequestHandler {
  const lines = new WeakMap<Socket, (() => void)[]>()
  const goOn = (socket: Socket) => {
    const next = socket.writable ? lines.get(socket)!.shift() : undefined
    if (next) next()
    else lines.delete(socket)
  }
  const begin = (socket: Socket, response: Response, go: () => void) => {
    whenClosed(response, () => {
      // Each in its own turn of the event loop: all that wait would hold it together.
      if (lines.get(socket)!.length > 0) setImmediate(goOn, socket)
      else lines.delete(socket)
    })
    go()
  }
  const refusals = new WeakMap<Socket, (() => void)[]>()
  const refuseOne = (socket: Socket) => {
    const line = refusals.get(socket)!
    line.shift()!()
    if (line.length > 0 && socket.writable) setImmediate(refuseOne, socket)
    else {
      refusals.delete(socket)
      socket.resume()
    }
  }
  // One packet may bring thousands of them: each has its own turn of the event loop as well, and nothing more is read until then.
  const refuse = (socket: Socket, go: () => void) => {
    const line = refusals.get(socket)
    if (line) line.push(go)
    else {
      refusals.set(socket, [go])
      socket.pause()
      setImmediate(refuseOne, socket)
    }
  }
  return ({ socket }, response, next) => {
    // Behind the last answer of a connection nothing is done (RFC 9112, section 9.6): nobody could be told of it.
    if (!socket.writable) return
    const waiting = lines.get(socket)
    if (waiting && waiting.length >= MOST_WAITING) refuse(socket, () => next(tooMany()))
    else if (waiting) waiting.push(() => begin(socket, response, next))
    else {
      lines.set(socket, [])
      begin(socket, response, next)
    }
  }
}

function tooMany(): ServiceError {
  const message = 'Too many requests wait on this connection: read the answers to those that came before.'
  return new ServiceError('RATE_LIMITED', { message, headers: { 'Retry-After': '1' } })
}
