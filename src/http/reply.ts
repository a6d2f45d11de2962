// Writing answers: handlers' replies, errors in the form of each door, and refusals.
import { pipeline, Readable } from 'node:stream'
import type { Response } from 'express'
import { cuts } from '../cuts.ts'
import { memoryOf } from '../engine/measure.ts'
import { errorBodies, ServiceError } from '../errors.ts'
import { bytesOf, type HeldAnswers, LARGE_ANSWER, type Reader, weigh } from '../held-answers.ts'
import { jsonTextParts } from '../json-steps.ts'
import { isLight } from '../light-parts.ts'
import { type Log, logFailure } from '../log.ts'
import type { OwnerTurns, Steps, TimeSlices } from '../time-slices.ts'
import { readerOf } from './answer-reader.ts'
import { localsOf } from './locals.ts'
import { Sending } from './sending.ts'
import { ENCODED_AT_ONCE } from './text-parts.ts'

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
  /** In which pieces of long bodies are taken and encoded: many connections may ask for one in the same turn of the event loop. */
  readonly reading: TimeSlices
  /** Told of what waits for its reader. */
  readonly held: HeldAnswers
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
  if (reply.content_type !== undefined) return sendRaw(response, reply.content_type, reply.body, writing)
  if (reply.body === undefined) {
    response.end()
    return
  }
  if (isLight(reply.body)) sendJson(response, JSON.stringify(reply.body))
  else await sendLarge(response, reply, writing)
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** A body that is no longer than a part of it goes out with its length, as small ones do. */
async function sendLarge(response: Response, reply: AnyReply, writing: Writing): Promise<void> {
  const { slices, owner } = writing
  const locals = localsOf(response)
  // What is not begun when too much is held may be asked for again, where that does nothing twice.
  if (isSafe(response))
    locals.unmade = () => {
      reply.body = null
    }
  const memory = weigh(reply.body as object, slices, owner)
  holdValue(readerOf(response, writing.held), reply.body as object, typeof memory === 'number' ? memory : await memory)
  const parts = jsonParts(() => reply.body, slices, owner)
  const first = reply.body === null ? '' : ((await parts.next()).value ?? '')
  locals.unmade = undefined
  if (response.destroyed) return
  if (reply.body === null) throw unavailable(response, reply)
  if (first.length < ENCODED_AT_ONCE) return sendJson(response, first)
  sendRaw(response, JSON_TYPE, startingWith(first, parts), writing)
}

function isSafe({ req }: Response): boolean {
  return req.method === 'GET' || req.method === 'HEAD'
}

/** Instead of a reply that was not begun. */
function unavailable(response: Response, { headers = {} }: AnyReply): ServiceError {
  for (const name of Object.keys(headers)) if (name !== 'Vary') response.removeHeader(name)
  return new ServiceError('SERVICE_UNAVAILABLE')
}

/** Members that others are sent as well, such as a graph that is kept compiled, count once. */
function holdValue(reader: Reader, value: object, memory: number): void {
  if (memory < LARGE_ANSWER) return
  let rest = memory
  for (const member of Array.isArray(value) ? [] : Object.values(value)) {
    if (typeof member !== 'object' || member === null || isLight(member)) continue
    const bytes = memoryOf(member)
    reader.share(member, bytes)
    rest -= bytes
  }
  reader.hold(rest)
}

async function* startingWith(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield first
  yield* rest
}

/**
 * The JSON text of a value in parts, made in time slices of `owner`; the value is asked for when the first one is made. Each part is made when the one before it is taken: of a body that nobody reads there is
 * one. The last one alone has less than ENCODED_AT_ONCE characters.
 */
export async function* jsonParts(
  value: () => unknown,
  slices: TimeSlices,
  owner: string,
): AsyncGenerator<string, void, void> {
  let next: (() => Steps<string>) | null = null
  function* part(): Steps<string> {
    next ??= jsonTextParts(value(), ENCODED_AT_ONCE)
    return yield* next()
  }
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

function sendRaw(response: Response, content_type: string, body: unknown, writing: Writing): void {
  const { held, fault } = writing
  const text = typeof body === 'string' && !content_type.includes('charset=')
  response.setHeader('Content-Type', text ? `${content_type}; charset=utf-8` : content_type)
  const isHead = response.req.method === 'HEAD'
  if (typeof body === 'string' || body instanceof Uint8Array) {
    response.setHeader('Content-Length', Buffer.byteLength(body))
    if (!isHead && body.length > LARGE_ANSWER) readerOf(response, held).hold(bytesOf(body))
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
  const source =
    body instanceof Readable ? body : Readable.from(piecesOf(body as Pieces, content_type, response, writing))
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

type Pieces = string | AsyncIterable<string | Uint8Array>

/** A long text goes out in pieces: to encode it at once would hold everybody up. Parts of streams are short. */
function piecesOf(body: Pieces, content_type: string, response: Response, { held, reading, owner }: Writing): Pieces {
  const turns = reading.turnsOf(owner)
  if (typeof body === 'string') return piecesTaken(cuts(body, ENCODED_AT_ONCE), readerOf(response, held), turns)
  return content_type === JSON_TYPE ? piecesOfParts(body, response, held, turns) : body
}

async function* piecesOfParts(
  parts: AsyncIterable<string | Uint8Array>,
  response: Response,
  held: HeldAnswers,
  turns: OwnerTurns,
): AsyncGenerator<string | Uint8Array, void, void> {
  for await (const part of parts) {
    if (part.length <= LARGE_ANSWER) {
      if (turns.over) await turns.next()
      yield part
      localsOf(response).reader?.took()
      continue
    }
    const reader = readerOf(response, held)
    const release = reader.hold(bytesOf(part))
    yield* typeof part === 'string' ? piecesTaken(cuts(part, ENCODED_AT_ONCE), reader, turns) : [part]
    release()
  }
}

async function* piecesTaken(
  pieces: readonly string[],
  reader: Reader,
  turns: OwnerTurns,
): AsyncGenerator<string, void, void> {
  for (const piece of pieces) {
    if (turns.over) await turns.next()
    yield piece
    reader.took()
  }
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

/** The refusal of a request that needs a principal and has none. */
export function sendRefusal(response: Response, reason: string, challenge: string | null): void {
  response.statusCode = 401
  if (challenge !== null) response.setHeader('WWW-Authenticate', challenge)
  sendJson(response, JSON.stringify({ error: reason }))
}
