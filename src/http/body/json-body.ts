// Parses JSON bodies before they are validated: checks their content type, and translates errors of the parser.
import { isUtf8 } from 'node:buffer'
import express, { type Request, type RequestHandler } from 'express'
import { type Problem, ServiceError } from '../../errors.ts'
import { type BodyVerdict, decodeUtf8Text, parseUtf8Json } from '../../payloads/body-and-frame-validation.ts'
import { LARGE_PAYLOAD_BYTES } from '../../payloads/payload-validator.ts'
import { findWideIntegersInJson, mayHoldWideInteger } from '../../payloads/wide-integers.ts'
import { isDeeperThan, MAX_JSON_DEPTH } from '../../shared/json.ts'
import { locateJsonSyntaxError } from '../../shared/json-syntax-error.ts'
import { findIllFormedTexts } from '../../shared/validation-problems.ts'
import { MAX_OBJECT_KEYS } from '../../shared/value-limits.ts'
import { sendContinue } from '../connection/expect-continue.ts'
import { onBodyFailure } from '../connection/malformed-requests.ts'
import { closeWithUnreadBody } from '../connection/unread-body.ts'
import type { RequestScheduler } from '../pipeline/request-scheduler.ts'
import { isPlainJson, readPlainJson } from './uncompressed-json-body.ts'

/**
 * Parses a body of at most `limit` bytes as JSON, and waits at most `ms` for it, if given. An absent body stays undefined; the schema says whether
 * one is required. A large body is kept as bytes for `takeLargeBody`, and so is a middling one when others have used up the turn of the event loop.
 */
export function createJsonBodyParser(
  turn: Pick<RequestScheduler, 'isUsed'>,
  limit: number,
  ms?: number,
  inspect: BodyInspector = markWideIntegers,
): RequestHandler {
  const verify: Verify = (request, _response, buffer, encoding) => {
    inspect(request, buffer, encoding)
    inspectBody(request, buffer, encoding, turn)
  }
  const parse = express.json({ limit, strict: false, type: () => true, verify })
  return (request, response, next) => {
    if (request.headers['content-length'] === '0') return next()
    const plain = isPlainJson(request)
    if (!plain) requireJsonContentType(request)
    const finish = callOnce((error?: unknown) => {
      clearTimeout(timer)
      if ((error as ParserError | undefined)?.type === LARGE_BODY) return next()
      if (error !== undefined) return next(error)
      if (isDeeperThan(request.body, MAX_JSON_DEPTH)) return next(tooDeepError())
      next(checkExactness(request))
    })
    const onTimeout = () => {
      closeWithUnreadBody(request, response)
      finish(invalidRequestError('/body', 'The body was not received in time.'))
    }
    enforceLength(request, limit, finish)
    const timer = ms === undefined ? undefined : setTimeout(onTimeout, ms)
    onBodyFailure(request, finish)
    sendContinue(request)
    if (plain) parsePlainBody(request, response, verify, finish)
    else parse(request, response, finish)
  }
}

/** Parses a plain body as the library's parser does others. */
function parsePlainBody(request: Request, response: unknown, verify: Verify, done: (error?: unknown) => void): void {
  const take = (bytes: Buffer) => {
    try {
      verify(request, response, bytes, 'utf-8')
      request.body = parseUtf8Json(bytes)
    } catch (error) {
      return done(error instanceof SyntaxError ? notJsonError(decodeUtf8Text(bytes), error) : error)
    }
    done()
  }
  readPlainJson(request, take, () => done(unreadableRequestError()))
}

/** Fails at the first byte beyond the limit: the parser would fail only after the last byte. */
function enforceLength(request: Request, limit: number, fail: (error: ServiceError) => void): void {
  const announced = request.headers['content-length']
  if (announced !== undefined) {
    if (Number(announced) > limit) throw bodyTooLargeError(limit)
    return
  }
  let length = 0
  request.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length > limit) fail(bodyTooLargeError(limit))
  })
}

function bodyTooLargeError(limit: unknown): ServiceError {
  return new ServiceError('REQUEST_TOO_LARGE', { message: `The request body is larger than ${String(limit)} bytes.` })
}

function callOnce(run: (error?: unknown) => void): (error?: unknown) => void {
  let done = false
  return (error) => {
    if (done) return
    done = true
    run(error)
  }
}

function requireJsonContentType(request: Request): void {
  // `null` means that there is no body at all.
  if (request.is('application/json') !== false) return
  const content_type = request.headers['content-type']
  const message = content_type
    ? `The body is ${content_type}; JSON is needed.`
    : 'The body has no Content-Type; application/json is needed.'
  throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', { message })
}

/** Thrown instead of a value for a large body, which is not parsed yet. */
const LARGE_BODY = 'body.large'
const NOT_UTF8 = 'not.utf8'
const UNSUPPORTED_CHARSET = 'charset.unsupported'

/** Requests whose strings may hold a lone surrogate: in UTF-8 only an escape can make one. */
const illFormedSuspects = new WeakSet<object>()

/** The text of requests that may hold an integer beyond 2^53. */
const wideSuspects = new WeakMap<object, string>()

/** Inspects the bytes of a body before it is parsed. */
type BodyInspector = (request: object, buffer: Buffer, encoding: string) => void

function markWideIntegers(request: object, buffer: Buffer, encoding: string): void {
  if (buffer.length > LARGE_PAYLOAD_BYTES) return
  const utf8 = encoding === 'utf-8' ? buffer : decodeJsonText(buffer, encoding)
  if (utf8 === null) undecodableBodies.add(request)
  else if (mayHoldWideInteger(utf8)) wideSuspects.set(request, decodeUtf8Text(utf8))
}

/** Requests whose text only the library's parser can decode. */
const undecodableBodies = new WeakSet<object>()

/** Decodes JSON in another encoding. Null if the platform does not know the encoding, or the text is no JSON. */
function decodeJsonText(buffer: Buffer, encoding: string): Buffer | null {
  try {
    const text = new TextDecoder(encoding).decode(buffer)
    JSON.parse(text)
    return Buffer.from(text)
  } catch {
    return null
  }
}

/** Refuses values that would be stored as others. */
function checkExactness(request: Request): ServiceError | undefined {
  const texts = illFormedSuspects.has(request) ? findIllFormedTexts(request.body, '/body') : []
  if (texts.length > 0) return illFormedTextError(texts)
  if (undecodableBodies.has(request))
    return new ServiceError('UNSUPPORTED_MEDIA_TYPE', { message: 'The body must be encoded in UTF-8.' })
  const text = wideSuspects.get(request)
  const integers = text === undefined ? [] : findWideIntegersInJson(text, '/body')
  return integers.length > 0 ? wideIntegerError(integers) : undefined
}

type Verify = (request: object, response: unknown, buffer: Buffer, encoding: string) => void

/** Bytes up to which a body is parsed at once, however many others were. */
const SMALL_PAYLOAD = 8_192

function inspectBody(request: object, buffer: Buffer, encoding: string, turn: Pick<RequestScheduler, 'isUsed'>): void {
  // The parser would take an empty body for an empty object.
  if (buffer.length === 0) throw Object.assign(new Error('the body is empty'), { type: 'entity.empty' })
  const isLarge = buffer.length > LARGE_PAYLOAD_BYTES
  if (isLarge || (encoding === 'utf-8' && buffer.length > SMALL_PAYLOAD && turn.isUsed())) {
    // RFC 8259, section 8.1: JSON that is exchanged between systems is encoded in UTF-8.
    if (encoding !== 'utf-8') throw Object.assign(new Error('the body is not in UTF-8'), { type: UNSUPPORTED_CHARSET })
    largeBodies.set(request, buffer)
    throw Object.assign(new Error('the body is large'), { type: LARGE_BODY })
  }
  // The parser would replace invalid bytes by U+FFFD.
  if (encoding === 'utf-8' && !isUtf8(buffer))
    throw Object.assign(new Error('the body is not UTF-8'), { type: NOT_UTF8 })
  if (encoding !== 'utf-8' || buffer.includes('\\ud') || buffer.includes('\\uD')) illFormedSuspects.add(request)
}

const largeBodies = new WeakMap<object, Buffer>()

/** Takes the bytes of a large body that was not parsed. Null if it was parsed, or taken already. */
export function takeLargeBody(request: object): Buffer | null {
  const bytes = largeBodies.get(request) ?? null
  largeBodies.delete(request)
  return bytes
}

type ReadableVerdict = { kind: 'valid' | 'invalid' }

/** The error of a large body before its validation, in the words of the error of a small one. */
export function bodyVerdictError(verdict: Exclude<BodyVerdict, ReadableVerdict>): ServiceError {
  if (verdict.kind === 'ill_formed') return illFormedTextError(verdict.problems)
  if (verdict.kind === 'wide') return wideIntegerError(verdict.problems)
  if (verdict.kind === 'too_many_keys') return tooManyKeysError(verdict.path)
  return { not_utf8: notUtf8Error, not_json: notJsonError, too_deep: tooDeepError }[verdict.kind]()
}

const bodyTexts = new WeakMap<object, Uint8Array>()

/** As `createJsonBodyParser`, for operations that forward the text unchanged. */
export function createTextBodyParser(turn: Pick<RequestScheduler, 'isUsed'>, limit: number): RequestHandler {
  return createJsonBodyParser(turn, limit, undefined, (request, buffer, encoding) => {
    if (encoding === 'utf-8') bodyTexts.set(request, buffer)
  })
}

/** Keeps the bytes of a large body as the text for `takeBodyText`: the worker that validated the body had them meanwhile. */
export function replaceBodyText(request: object, bytes: Buffer): void {
  if (bodyTexts.has(request)) bodyTexts.set(request, bytes)
}

/**
 * Takes the bytes that `createTextBodyParser` kept, once: they may be many, and the request lives as long as its response. Null if they are not
 * UTF-8.
 */
export function takeBodyText(request: object): Uint8Array | null {
  const text = bodyTexts.get(request) ?? null
  bodyTexts.delete(request)
  return text
}

interface ParserError {
  type?: unknown
  status?: unknown
  limit?: unknown
  /** The text that could not be parsed. */
  body?: unknown
}

/** Translates errors of the body parser and of the router into ServiceErrors; other values pass unchanged. */
export function translateParserError(thrown: unknown): unknown {
  if (thrown instanceof ServiceError || !(thrown instanceof Error)) return thrown
  const { type, status, limit, body } = thrown as ParserError
  if (type === 'entity.too.large') return bodyTooLargeError(limit)
  if (type === 'encoding.unsupported' || type === UNSUPPORTED_CHARSET) return new ServiceError('UNSUPPORTED_MEDIA_TYPE')
  if (type === 'entity.empty') return invalidRequestError('/body', 'is required')
  if (type === NOT_UTF8) return notUtf8Error()
  if (type === 'entity.parse.failed') return notJsonError(typeof body === 'string' ? body : undefined, thrown)
  if (status === 400)
    return thrown instanceof URIError
      ? invalidRequestError('', 'The path is not valid percent-encoding.')
      : unreadableRequestError()
  return thrown
}

function notUtf8Error(): ServiceError {
  return invalidRequestError('/body', 'The body is not valid UTF-8.')
}

function tooDeepError(): ServiceError {
  return invalidRequestError('/body', `The body is nested deeper than ${MAX_JSON_DEPTH} levels.`)
}

function tooManyKeysError(path: string): ServiceError {
  return invalidRequestError(path, `An object has at most ${MAX_OBJECT_KEYS.toLocaleString('en')} keys.`)
}

function illFormedTextError(problems: readonly Problem[]): ServiceError {
  return new ServiceError('INVALID_REQUEST', { message: 'A string of the body is not well-formed Unicode.', problems })
}

function wideIntegerError(problems: readonly Problem[]): ServiceError {
  const [first] = problems
  return new ServiceError('INVALID_REQUEST', { message: `${first!.path}: ${first!.message}`, problems })
}

/** Characters up to which a text is searched for its syntax error, which reads it some twenty times. Longer texts are not written by hand. */
const MAX_EXPLAINED_LENGTH = 16_384

/** The text and the parser's error explain the mistake, if they are given. */
function notJsonError(text?: string, error?: unknown): ServiceError {
  const explanation = text !== undefined && text.length <= MAX_EXPLAINED_LENGTH ? describeJsonMistake(text, error) : ''
  return invalidRequestError('/body', `The body is not valid JSON.${explanation}`)
}

function describeJsonMistake(text: string, error: unknown): string {
  const { reason, line, column } = locateJsonSyntaxError(text, error)
  return ` ${reason} (line ${line}, column ${column}).`
}

function unreadableRequestError(): ServiceError {
  return invalidRequestError('', 'The request cannot be read.')
}

function invalidRequestError(path: string, message: string): ServiceError {
  return new ServiceError('INVALID_REQUEST', { message, problems: [{ path, message }] })
}
