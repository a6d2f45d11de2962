// Bodies before they are validated: their content type, and what the parser says of them.
import type { RequestHandler } from 'express'
import { ServiceError } from '../errors.ts'

/** 415 for a body that is not JSON. A request without a body passes: whether it needs one is the schema's business. */
export const requireJson: RequestHandler = (request, _response, next) => {
  const type = request.is(['json', '+json'])
  // `null` means that there is no body at all.
  if (type === false) {
    const given = request.headers['content-type']
    const message = given
      ? `The body is ${given}; JSON is needed.`
      : 'The body has no Content-Type; application/json is needed.'
    throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', { message })
  }
  next()
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
  if (type === 'entity.too.large') {
    return new ServiceError('REQUEST_TOO_LARGE', { message: `The request body is larger than ${String(limit)} bytes.` })
  }
  if (type === 'encoding.unsupported' || type === 'charset.unsupported')
    return new ServiceError('UNSUPPORTED_MEDIA_TYPE')
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
