// Bodies before they are validated: their content type, their parsing, and what the parser says of them.
import express, { type Request, type RequestHandler } from 'express'
import { ServiceError } from '../errors.ts'
import { deeperThan, MAX_DEPTH } from '../json.ts'
import { illFormedTexts } from '../problems.ts'

/** Parses a body of at most `limit` bytes as JSON. Where there is no content the body stays undefined: whether one is needed is the schema's business. */
export function jsonBody(limit: number): RequestHandler {
  const parse = express.json({ limit, strict: false, type: () => true, verify: inspect })
  return (request, response, next) => {
    if (request.headers['content-length'] === '0') return next()
    requireJson(request)
    const checked = once((error?: unknown) => {
      if (error !== undefined) return next(error)
      if (deeperThan(request.body, MAX_DEPTH))
        return next(invalid('/body', `The body is nested deeper than ${MAX_DEPTH} levels.`))
      const problems = suspects.has(request) ? illFormedTexts(request.body, '/body') : []
      if (problems.length === 0) return next()
      next(new ServiceError('INVALID_REQUEST', { message: 'A text of the body is not well-formed.', problems }))
    })
    watchLength(request, limit, checked)
    parse(request, response, checked)
  }
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

/** Requests whose texts may hold half a character: in UTF-8 only an escape can make one. */
const suspects = new WeakSet<object>()

function inspect(request: object, _response: unknown, buffer: Buffer, encoding: string): void {
  // The parser would take an empty body for an empty object.
  if (buffer.length === 0) throw Object.assign(new Error('the body is empty'), { type: 'entity.empty' })
  if (encoding !== 'utf-8' || buffer.includes('\\ud') || buffer.includes('\\uD')) suspects.add(request)
}

interface ParserError {
  type?: unknown
  status?: unknown
  limit?: unknown
}

/** Turns the errors of the body parser and of the router into ours; everything else passes unchanged. */
export function fromBodyParser(thrown: unknown): unknown {
  if (thrown instanceof ServiceError || !(thrown instanceof Error)) return thrown
  const { type, status, limit } = thrown as ParserError
  if (type === 'entity.too.large') return tooLarge(limit)
  if (type === 'encoding.unsupported' || type === 'charset.unsupported')
    return new ServiceError('UNSUPPORTED_MEDIA_TYPE')
  if (type === 'entity.empty') return invalid('/body', 'is required')
  if (type === 'entity.parse.failed') return invalid('/body', 'The body is not valid JSON.')
  if (status === 400)
    return invalid(
      '',
      thrown instanceof URIError ? 'The path is not valid percent-encoding.' : 'The request cannot be read.',
    )
  return thrown
}

function invalid(path: string, message: string): ServiceError {
  return new ServiceError('INVALID_REQUEST', { message, problems: [{ path, message }] })
}
