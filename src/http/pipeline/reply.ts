// Writes responses: replies of handlers, errors in each ErrorFormat, and refusals.
import { pipeline, Readable } from 'node:stream'
import type { Response } from 'express'
import { estimateMemory } from '../../engine/node-api/values/measure.ts'
import { errorBodies, ServiceError } from '../../errors.ts'
import { type Log, logFailure } from '../../log.ts'
import {
  estimateBytes,
  estimateContainerBytes,
  LARGE_RESPONSE_BYTES,
  type ResponseBuffers,
  type ResponseReader,
} from '../../net/response-buffers.ts'
import { stringifyParts } from '../../shared/incremental-json.ts'
import { chunkText } from '../../shared/text-chunks.ts'
import type { OwnerTimeSlices, Steps, TimeSliceScheduler } from '../../shared/time-slices.ts'
import { isSmallValue } from '../../shared/value-size.ts'
import { FileResponseSink } from '../body/file-response-sink.ts'
import { localsOf } from './response-locals.ts'
import { getResponseReader } from './response-reader.ts'
import { TEXT_CHUNK_LENGTH } from './text-stream.ts'

/** The untyped form of every handler's reply. */
export interface HandlerReply {
  status: number
  body?: unknown
  content_type?: string
  headers?: Readonly<Record<string, string | number>>
}

/** A response whose JSON is text already, whole or in parts. The caller guarantees that the text is a `Body`. */
export function createJsonTextReply<Body, Status extends number>(
  status: Status,
  text: string | Uint8Array | AsyncIterable<string>,
): { status: Status; body: Body; content_type?: never } {
  return { status, body: text, content_type: JSON_TYPE } as never
}

/** The format of error bodies, as `x-svc-errors` in the contract names it. */
export type ErrorFormat = 'api' | 'sdk' | 'openai'

/** The error format of a path that no operation claims. */
export function errorFormatOf(path: string): ErrorFormat {
  if (path === '/v1' || path.startsWith('/v1/')) return 'openai'
  return path.startsWith('/api/sdk/v1/') ? 'sdk' : 'api'
}

/** The tools for writing a response. */
export interface ReplyWriteOptions {
  readonly slices: TimeSliceScheduler
  /** Slices in which chunks of long bodies are read and encoded: many connections may request one in the same turn of the event loop. */
  readonly reading: TimeSliceScheduler
  /** Accounts for data that waits for its reader. */
  readonly held: ResponseBuffers
  /** The owner whose time slices a large body takes. */
  readonly owner: string
  /** Called if a body fails while it is sent. The connection is cut then, so that the client does not take the body for complete. */
  onBodyError(error: Error): void
}

/** Writes a reply, and resolves when it is made, or its stream has begun. A large JSON body is made in time slices. */
export async function sendReply(response: Response, reply: HandlerReply, writing: ReplyWriteOptions): Promise<void> {
  response.statusCode = reply.status
  if (reply.headers) {
    for (const [name, value] of Object.entries(reply.headers)) {
      // Every response varies by `Origin` already.
      if (name === 'Vary') response.vary(String(value))
      else response.setHeader(name, value)
    }
  }
  if (reply.content_type !== undefined) return sendRaw(response, reply.content_type, reply.body, writing)
  if (reply.body === undefined) {
    response.end()
    return
  }
  if (isSmallValue(reply.body)) sendJson(response, JSON.stringify(reply.body))
  else await sendLargeJson(response, reply, writing)
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** A body that fits into one chunk is sent with its length, like a small one. */
async function sendLargeJson(response: Response, reply: HandlerReply, writing: ReplyWriteOptions): Promise<void> {
  const { slices, owner } = writing
  const locals = localsOf(response)
  // If too much is held, a response that has not begun is refused. The client can repeat a safe method without effect.
  if (isSafeMethod(response))
    locals.cancelUnstarted = () => {
      reply.body = null
    }
  const memory = estimateContainerBytes(reply.body as object, slices, owner)
  holdReplyValue(
    getResponseReader(response, writing.held),
    reply.body as object,
    typeof memory === 'number' ? memory : await memory,
  )
  const parts = encodeJsonChunks(() => reply.body, slices, owner)
  const first = reply.body === null ? '' : ((await parts.next()).value ?? '')
  locals.cancelUnstarted = undefined
  if (response.destroyed) return
  if (reply.body === null) throw createUnavailableError(response, reply)
  if (first.length < TEXT_CHUNK_LENGTH) return sendJson(response, first)
  sendRaw(response, JSON_TYPE, prependChunk(first, parts), writing)
}

function isSafeMethod({ req }: Response): boolean {
  return req.method === 'GET' || req.method === 'HEAD'
}

/** Replaces a reply that has not begun. */
function createUnavailableError(response: Response, { headers = {} }: HandlerReply): ServiceError {
  for (const name of Object.keys(headers)) if (name !== 'Vary') response.removeHeader(name)
  return new ServiceError('SERVICE_UNAVAILABLE')
}

/** Members that other responses share, such as a graph that is kept compiled, count once. */
function holdReplyValue(reader: ResponseReader, value: object, memory: number): void {
  if (memory < LARGE_RESPONSE_BYTES) return
  let unshared = memory
  for (const member of Array.isArray(value) ? [] : Object.values(value)) {
    if (typeof member !== 'object' || member === null || isSmallValue(member)) continue
    const bytes = estimateMemory(member)
    reader.share(member, bytes)
    unshared -= bytes
  }
  reader.hold(unshared)
}

async function* prependChunk(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield first
  yield* rest
}

/**
 * The JSON text of a value in chunks, made in time slices of `owner`; `value` is called for the first chunk. Each chunk is made when the one before
 * is taken: a body without a reader has one. Only the last has less than TEXT_CHUNK_LENGTH characters.
 */
export async function* encodeJsonChunks(
  value: () => unknown,
  slices: TimeSliceScheduler,
  owner: string,
): AsyncGenerator<string, void, void> {
  let next: (() => Steps<string>) | null = null
  function* part(): Steps<string> {
    next ??= stringifyParts(value(), TEXT_CHUNK_LENGTH)
    return yield* next()
  }
  for (;;) {
    const text = await slices.run(owner, part())
    if (text !== '') yield text
    if (text.length < TEXT_CHUNK_LENGTH) return
  }
}

function sendJson(response: Response, text: string): void {
  response.setHeader('Content-Type', JSON_TYPE)
  response.setHeader('Content-Length', Buffer.byteLength(text))
  response.end(response.req.method === 'HEAD' ? undefined : text)
}

function sendRaw(response: Response, content_type: string, body: unknown, writing: ReplyWriteOptions): void {
  const { held, onBodyError } = writing
  const needsCharset = typeof body === 'string' && !content_type.includes('charset=')
  response.setHeader('Content-Type', needsCharset ? `${content_type}; charset=utf-8` : content_type)
  const isHead = response.req.method === 'HEAD'
  if (typeof body === 'string' || body instanceof Uint8Array) {
    response.setHeader('Content-Length', Buffer.byteLength(body))
    if (!isHead && body.length > LARGE_RESPONSE_BYTES) getResponseReader(response, held).hold(estimateBytes(body))
    if (isHead || typeof body !== 'string' || body.length <= TEXT_CHUNK_LENGTH) {
      response.end(isHead ? undefined : body)
      return
    }
  }
  // HEAD has no body, so its stream is closed unread.
  if (isHead) {
    if (body instanceof Readable) body.destroy()
    else (body as AsyncIterable<unknown>)[Symbol.asyncIterator]().return?.().catch(onBodyError)
    response.end()
    return
  }
  // A file stream is piped unwrapped: a wrapper whose first byte is never read would not close it.
  const source =
    body instanceof Readable ? body : Readable.from(chunkBody(body as BodyChunks, content_type, response, writing))
  // Node cannot pipe into a response that is closed.
  if (response.destroyed) {
    source.destroy()
    return
  }
  const sink = source === body ? new FileResponseSink(response, source) : response
  pipeline(source, sink, (error) => {
    // A client that disconnects early is no fault.
    if (error && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') onBodyError(error)
  })
}

type BodyChunks = string | AsyncIterable<string | Uint8Array>

/** Sends a long text in chunks: to encode it at once would block the event loop. Parts of streams are short. */
function chunkBody(
  body: BodyChunks,
  content_type: string,
  response: Response,
  { held, reading, owner }: ReplyWriteOptions,
): BodyChunks {
  const turns = reading.turnsOf(owner)
  if (typeof body === 'string')
    return yieldChunks(chunkText(body, TEXT_CHUNK_LENGTH), getResponseReader(response, held), turns)
  return content_type === JSON_TYPE ? chunkParts(body, response, held, turns) : body
}

async function* chunkParts(
  parts: AsyncIterable<string | Uint8Array>,
  response: Response,
  held: ResponseBuffers,
  turns: OwnerTimeSlices,
): AsyncGenerator<string | Uint8Array, void, void> {
  for await (const part of parts) {
    if (part.length <= LARGE_RESPONSE_BYTES) {
      if (turns.over) await turns.next()
      yield part
      localsOf(response).reader?.took()
      continue
    }
    const reader = getResponseReader(response, held)
    const release = reader.hold(estimateBytes(part))
    yield* typeof part === 'string' ? yieldChunks(chunkText(part, TEXT_CHUNK_LENGTH), reader, turns) : [part]
    release()
  }
}

async function* yieldChunks(
  pieces: readonly string[],
  reader: ResponseReader,
  turns: OwnerTimeSlices,
): AsyncGenerator<string, void, void> {
  for (const piece of pieces) {
    if (turns.over) await turns.next()
    yield piece
    reader.took()
  }
}

/** Seconds of Retry-After where the error has none. */
const RETRY_AFTER_SECONDS = '5'

/** Sends an error. A cause that the client may not see is logged under the request id. */
export function sendError(
  response: Response,
  error: ServiceError,
  format: ErrorFormat,
  log: Log,
  request_id: string,
): void {
  logFailure(log, error, { request_id }, 'a request failed')
  if (response.headersSent) {
    response.destroy()
    return
  }
  if (error.code === 'SERVICE_UNAVAILABLE') response.setHeader('Retry-After', RETRY_AFTER_SECONDS)
  for (const [name, value] of Object.entries(error.headers)) response.setHeader(name, value)
  response.statusCode = error.status
  sendJson(response, JSON.stringify(errorBodies[format](error)))
}

/** The refusal of a request that needs a principal and has none. */
export function sendUnauthorized(response: Response, reason: string, challenge: string | null): void {
  response.statusCode = 401
  if (challenge !== null) response.setHeader('WWW-Authenticate', challenge)
  sendJson(response, JSON.stringify({ error: reason }))
}
