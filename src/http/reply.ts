// Writing answers: handlers' replies, errors in the form of each door, and refusals.
import { pipeline, Readable } from 'node:stream'
import type { Response } from 'express'
import { errorBodies, type ServiceError } from '../errors.ts'
import { jsonTextParts } from '../json-steps.ts'
import { isLight } from '../light-parts.ts'
import { type Log, logFailure } from '../log.ts'
import type { TimeSlices } from '../time-slices.ts'
import { cuts, ENCODED_AT_ONCE, inCuts } from './cuts.ts'
import { Sending } from './sending.ts'

/** What every handler's typed reply is underneath. */
export interface AnyReply {
  status: number
  body?: unknown
  content_type?: string
  headers?: Readonly<Record<string, string | number>>
}

/** An answer whose JSON is text already, whole or in parts. That the text says a `Body` is the caller's word. */
export function jsonText<Body, Status extends number>(
  status: Status,
  text: string | Uint8Array | AsyncIterable<string>,
): { status: Status; body: Body; content_type?: never } {
  return { status, body: text, content_type: JSON_TYPE } as never
}

/** The form of an error body, as the contract's `x-svc-errors` names it. */
export type Door = 'api' | 'sdk' | 'openai'

/** The door of a path that no operation claims. */
export function doorOf(path: string): Door {
  if (path === '/v1' || path.startsWith('/v1/')) return 'openai'
  return path.startsWith('/api/sdk/v1/') ? 'sdk' : 'api'
}

/** What an answer is written with. */
export interface Writing {
  readonly slices: TimeSlices
  /** Whose time slices a large body takes. */
  readonly owner: string
  /** Hears of a body that breaks off while it is sent; the connection is cut then, so that nobody takes it for whole. */
  fault(error: Error): void
}

/** Writes a reply, and resolves when all of it is made, or on its way. A large JSON body is made in time slices. */
export async function sendReply(response: Response, reply: AnyReply, writing: Writing): Promise<void> {
  response.statusCode = reply.status
  if (reply.headers) {
    for (const [name, value] of Object.entries(reply.headers)) {
      // Every answer varies by the origin already.
      if (name === 'Vary') response.vary(String(value))
      else response.setHeader(name, value)
    }
  }
  if (reply.content_type !== undefined) return sendRaw(response, reply.content_type, reply.body, writing.fault)
  if (reply.body === undefined) {
    response.end()
    return
  }
  if (isLight(reply.body)) sendJson(response, JSON.stringify(reply.body))
  else await sendLarge(response, reply.body, writing)
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** A body that is no longer than a part of it goes out with its length, as small ones do. */
async function sendLarge(response: Response, body: unknown, { slices, owner, fault }: Writing): Promise<void> {
  const parts = jsonParts(body, slices, owner)
  const first = (await parts.next()).value ?? ''
  if (response.destroyed) return
  if (first.length < ENCODED_AT_ONCE) return sendJson(response, first)
  sendRaw(response, JSON_TYPE, inCuts(startingWith(first, parts), ENCODED_AT_ONCE), fault)
}

async function* startingWith(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield first
  yield* rest
}

/**
 * The JSON text of a value in parts, made in time slices of `owner`. Each part is made when the one before it is taken: of a body that nobody reads there is
 * one. The last one alone has less than ENCODED_AT_ONCE characters.
 */
export async function* jsonParts(
  value: unknown,
  slices: TimeSlices,
  owner: string,
): AsyncGenerator<string, void, void> {
  const part = jsonTextParts(value, ENCODED_AT_ONCE)
  for (;;) {
    const text = await slices.run(owner, part())
    if (text !== '') yield text
    if (text.length < ENCODED_AT_ONCE) return
  }
}

function sendJson(response: Response, text: string): void {
  response.setHeader('Content-Type', JSON_TYPE)
  response.setHeader('Content-Length', Buffer.byteLength(text))
  response.end(response.req.method === 'HEAD' ? undefined : text)
}

function sendRaw(response: Response, content_type: string, body: unknown, fault: (error: Error) => void): void {
  const text = typeof body === 'string' && !content_type.includes('charset=')
  response.setHeader('Content-Type', text ? `${content_type}; charset=utf-8` : content_type)
  const isHead = response.req.method === 'HEAD'
  if (typeof body === 'string' || body instanceof Uint8Array) {
    response.setHeader('Content-Length', Buffer.byteLength(body))
    if (isHead || typeof body !== 'string' || body.length <= ENCODED_AT_ONCE) {
      response.end(isHead ? undefined : body)
      return
    }
  }
  // Nothing is begun that nobody reads.
  if (isHead) {
    if (body instanceof Readable) body.destroy()
    else (body as AsyncIterable<unknown>)[Symbol.asyncIterator]().return?.().catch(fault)
    response.end()
    return
  }
  // A stream, which is of a file, goes in as it is: one that is wrapped would not be closed where its first byte is never asked for.
  const source = body instanceof Readable ? body : readableOf(body as string | AsyncIterable<string | Uint8Array>)
  // Into an answer that is closed already nothing can be piped.
  if (response.destroyed) {
    source.destroy()
    return
  }
  const sink = source === body ? new Sending(response, source) : response
  pipeline(source, sink, (error) => {
    // A client that leaves early is no fault.
    if (error && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') fault(error)
  })
}

/** A long text goes out in pieces: to encode it at once would hold everybody up. */
function readableOf(body: string | AsyncIterable<string | Uint8Array>): Readable {
  return Readable.from(typeof body === 'string' ? cuts(body, ENCODED_AT_ONCE) : body)
}

/** Where whoever refused for now did not say for how long. */
const RETRY_AFTER_SECONDS = '5'

/** Answers with an error. A cause that the client may not see goes to the log, under the request's id. */
export function sendError(response: Response, error: ServiceError, door: Door, log: Log, request_id: string): void {
  logFailure(log, error, { request_id }, 'a request failed')
  if (response.headersSent) {
    response.destroy()
    return
  }
  if (error.code === 'SERVICE_UNAVAILABLE') response.setHeader('Retry-After', RETRY_AFTER_SECONDS)
  for (const [name, value] of Object.entries(error.headers)) response.setHeader(name, value)
  response.statusCode = error.status
  sendJson(response, JSON.stringify(errorBodies[door](error)))
}

/** The refusal of a request that needs a principal and has none; `challenge` where the path has one. */
export function sendRefusal(response: Response, reason: string, challenge: string | null): void {
  response.statusCode = 401
  if (challenge !== null) response.setHeader('WWW-Authenticate', challenge)
  sendJson(response, JSON.stringify({ error: reason }))
}
