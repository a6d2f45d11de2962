// Bodies before they are validated: their content type, their parsing, and what the parser says of them.
import { isUtf8 } from 'node:buffer'
import express, { type Request, type RequestHandler } from 'express'
import { type Problem, ServiceError } from '../errors.ts'
import { deeperThan, MAX_DEPTH } from '../json.ts'
import { jsonMistake } from '../json-mistake.ts'
import { MOST_KEYS } from '../most-keys.ts'
import { type BodyVerdict, parsedText, textOf } from '../payloads/judge.ts'
import { LARGE_PAYLOAD } from '../payloads/payload-judge.ts'
import { mayHoldWide, wideInJson } from '../payloads/wide-integers.ts'
import { illFormedTexts } from '../problems.ts'
import { whenBroken } from './broken.ts'
import type { FairLine } from './fair-line.ts'
import { goOn } from './going-on.ts'
import { isPlain, readPlain } from './plain-body.ts'
import { closeUnread } from './unread.ts'

/**
 * Parses a body of at most `limit` bytes as JSON. Where there is no content the body stays undefined: whether one is needed is the schema's
 * business. One that is not there after `ms`, if that is given, is waited for no longer. A large one is kept as bytes, for `takeLarge`, and so is one of
 * middling size where others have used the turn of the event loop.
 */
export function jsonBody(
  turn: Pick<FairLine, 'isUsed'>,
  limit: number,
  ms?: number,
  look: Look = suspectWide,
): RequestHandler {
  const verify: Verify = (request, _response, buffer, encoding) => {
    look(request, buffer, encoding)
    inspect(request, buffer, encoding, turn)
  }
  const parse = express.json({ limit, strict: false, type: () => true, verify })
  return (request, response, next) => {
    if (request.headers['content-length'] === '0') return next()
    const plain = isPlain(request)
    if (!plain) requireJson(request)
    const checked = once((error?: unknown) => {
      clearTimeout(timer)
      if ((error as ParserError | undefined)?.type === IS_LARGE) return next()
      if (error !== undefined) return next(error)
      if (deeperThan(request.body, MAX_DEPTH)) return next(tooDeep())
      next(inexact(request))
    })
    const late = () => {
      closeUnread(request, response)
      checked(invalid('/body', 'The body did not come in time.'))
    }
    watchLength(request, limit, checked)
    const timer = ms === undefined ? undefined : setTimeout(late, ms)
    whenBroken(request, checked)
    goOn(request)
    if (plain) parsePlain(request, response, verify, checked)
    else parse(request, response, checked)
  }
}

/** Does with a plain body what the parser does with any. */
function parsePlain(request: Request, response: unknown, verify: Verify, done: (error?: unknown) => void): void {
  const take = (bytes: Buffer) => {
    try {
      verify(request, response, bytes, 'utf-8')
      request.body = parsedText(bytes)
    } catch (error) {
      return done(error instanceof SyntaxError ? notJson(textOf(bytes), error) : error)
    }
    done()
  }
  readPlain(request, take, () => done(unreadable()))
}

/** Fails at the first byte beyond the limit: the parser would tell only after the last one. */
function watchLength(request: Request, limit: number, fail: (error: ServiceError) => void): void {
  const announced = request.headers['content-length']
  if (announced !== undefined) {
    if (Number(announced) > limit) throw tooLarge(limit)
    return
  }
  let length = 0
  request.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length > limit) fail(tooLarge(limit))
  })
}

function tooLarge(limit: unknown): ServiceError {
  return new ServiceError('REQUEST_TOO_LARGE', { message: `The request body is larger than ${String(limit)} bytes.` })
}

function once(run: (error?: unknown) => void): (error?: unknown) => void {
  let done = false
  return (error) => {
    if (done) return
    done = true
    run(error)
  }
}

function requireJson(request: Request): void {
  // `null` means that there is no body at all.
  if (request.is('application/json') !== false) return
  const given = request.headers['content-type']
  const message = given
    ? `The body is ${given}; JSON is needed.`
    : 'The body has no Content-Type; application/json is needed.'
  throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', { message })
}

/** Thrown in the place of the value of a large body, which is not parsed yet. */
const IS_LARGE = 'body.large'
const NOT_UTF8 = 'not.utf8'
const OTHER_CHARSET = 'charset.unsupported'

/** Requests whose texts may hold half a character: in UTF-8 only an escape can make one. */
const suspects = new WeakSet<object>()

/** The text of requests that may hold an integer beyond 2^53. */
const wideSuspects = new WeakMap<object, string>()

/** Looks at the bytes of a body before it is parsed. */
type Look = (request: object, buffer: Buffer, encoding: string) => void

function suspectWide(request: object, buffer: Buffer, encoding: string): void {
  if (buffer.length > LARGE_PAYLOAD) return
  const utf8 = encoding === 'utf-8' ? buffer : decoded(buffer, encoding)
  if (utf8 === null) unread.add(request)
  else if (mayHoldWide(utf8)) wideSuspects.set(request, textOf(utf8))
}

/** Requests whose text nobody but the parser can read. */
const unread = new WeakSet<object>()

/** JSON text in another encoding; null where the platform does not know that, or reads no JSON. */
function decoded(buffer: Buffer, encoding: string): Buffer | null {
  try {
    const text = new TextDecoder(encoding).decode(buffer)
    JSON.parse(text)
    return Buffer.from(text)
  } catch {
    return null
  }
}

/** What of a body would be stored as something else. */
function inexact(request: Request): ServiceError | undefined {
  const texts = suspects.has(request) ? illFormedTexts(request.body, '/body') : []
  if (texts.length > 0) return illFormed(texts)
  if (unread.has(request)) return new ServiceError('UNSUPPORTED_MEDIA_TYPE', { message: 'The body is to be in UTF-8.' })
  const text = wideSuspects.get(request)
  const integers = text === undefined ? [] : wideInJson(text, '/body')
  return integers.length > 0 ? wide(integers) : undefined
}

type Verify = (request: object, response: unknown, buffer: Buffer, encoding: string) => void

/** What is smaller, in bytes, is parsed at once, however many others were. */
const SMALL_PAYLOAD = 8_192

function inspect(request: object, buffer: Buffer, encoding: string, turn: Pick<FairLine, 'isUsed'>): void {
  // The parser would take an empty body for an empty object.
  if (buffer.length === 0) throw Object.assign(new Error('the body is empty'), { type: 'entity.empty' })
  const isLarge = buffer.length > LARGE_PAYLOAD
  if (isLarge || (encoding === 'utf-8' && buffer.length > SMALL_PAYLOAD && turn.isUsed())) {
    // RFC 8259, section 8.1: whoever exchanges JSON with others encodes it in UTF-8.
    if (encoding !== 'utf-8') throw Object.assign(new Error('the body is not in UTF-8'), { type: OTHER_CHARSET })
    large.set(request, buffer)
    throw Object.assign(new Error('the body is large'), { type: IS_LARGE })
  }
  // It would put a sign for what cannot be read in its place.
  if (encoding === 'utf-8' && !isUtf8(buffer))
    throw Object.assign(new Error('the body is not UTF-8'), { type: NOT_UTF8 })
  if (encoding !== 'utf-8' || buffer.includes('\\ud') || buffer.includes('\\uD')) suspects.add(request)
}

const large = new WeakMap<object, Buffer>()

/** The bytes of a large body, which was not parsed, once; null where it was. */
export function takeLarge(request: object): Buffer | null {
  const bytes = large.get(request) ?? null
  large.delete(request)
  return bytes
}

type Readable = { kind: 'valid' | 'invalid' }

/** What is wrong with a large body before its schema is looked at, in the words that a small one is refused with. */
export function faultOf(verdict: Exclude<BodyVerdict, Readable>): ServiceError {
  if (verdict.kind === 'ill_formed') return illFormed(verdict.problems)
  if (verdict.kind === 'wide') return wide(verdict.problems)
  if (verdict.kind === 'too_many_keys') return tooManyKeys(verdict.path)
  return { not_utf8: notUtf8, not_json: notJson, too_deep: tooDeep }[verdict.kind]()
}

const texts = new WeakMap<object, Uint8Array>()

/** The same, for operations that hand the text on as it came. */
export function textBody(turn: Pick<FairLine, 'isUsed'>, limit: number): RequestHandler {
  return jsonBody(turn, limit, undefined, (request, buffer, encoding) => {
    if (encoding === 'utf-8') texts.set(request, buffer)
  })
}

/** Keeps the bytes of a large body as the text that `takeText` gives: whoever judged it had them meanwhile. */
export function keepText(request: object, bytes: Buffer): void {
  if (texts.has(request)) texts.set(request, bytes)
}

/** The bytes of a body that `textBody` read, once: it may be long, and its request stays as long as its answer. Null where it is not UTF-8. */
export function takeText(request: object): Uint8Array | null {
  const text = texts.get(request) ?? null
  texts.delete(request)
  return text
}

interface ParserError {
  type?: unknown
  status?: unknown
  limit?: unknown
  /** The text that was not parsed. */
  body?: unknown
}

/** Turns the errors of the body parser and of the router into ours; everything else passes unchanged. */
export function fromBodyParser(thrown: unknown): unknown {
  if (thrown instanceof ServiceError || !(thrown instanceof Error)) return thrown
  const { type, status, limit, body } = thrown as ParserError
  if (type === 'entity.too.large') return tooLarge(limit)
  if (type === 'encoding.unsupported' || type === OTHER_CHARSET) return new ServiceError('UNSUPPORTED_MEDIA_TYPE')
  if (type === 'entity.empty') return invalid('/body', 'is required')
  if (type === NOT_UTF8) return notUtf8()
  if (type === 'entity.parse.failed') return notJson(typeof body === 'string' ? body : undefined, thrown)
  if (status === 400)
    return thrown instanceof URIError ? invalid('', 'The path is not valid percent-encoding.') : unreadable()
  return thrown
}

function notUtf8(): ServiceError {
  return invalid('/body', 'The body is not valid UTF-8.')
}

function tooDeep(): ServiceError {
  return invalid('/body', `The body is nested deeper than ${MAX_DEPTH} levels.`)
}

function tooManyKeys(path: string): ServiceError {
  return invalid(path, `An object has at most ${MOST_KEYS.toLocaleString('en')} keys.`)
}

function illFormed(problems: readonly Problem[]): ServiceError {
  return new ServiceError('INVALID_REQUEST', { message: 'A text of the body is not well-formed.', problems })
}

function wide(problems: readonly Problem[]): ServiceError {
  const [first] = problems
  return new ServiceError('INVALID_REQUEST', { message: `${first!.path}: ${first!.message}`, problems })
}

/** Characters of a text in which the mistake is looked for: it is read some twenty times for that. People write no longer ones. */
const LONGEST_EXPLAINED = 16_384

/** Of a text with the error of its parser, if it is at hand. */
function notJson(text?: string, error?: unknown): ServiceError {
  const told = text !== undefined && text.length <= LONGEST_EXPLAINED ? mistakeIn(text, error) : ''
  return invalid('/body', `The body is not valid JSON.${told}`)
}

function mistakeIn(text: string, error: unknown): string {
  const { reason, line, column } = jsonMistake(text, error)
  return ` ${reason} (line ${line}, column ${column}).`
}

function unreadable(): ServiceError {
  return invalid('', 'The request cannot be read.')
}

function invalid(path: string, message: string): ServiceError {
  return new ServiceError('INVALID_REQUEST', { message, problems: [{ path, message }] })
}
