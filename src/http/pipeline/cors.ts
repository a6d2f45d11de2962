// CORS (Fetch, "HTTP CORS protocol"): lets pages of allowed origins read responses, and answers preflight requests. access/local-trust.ts says which
// origins are allowed, as for the local user. There are no cookies, and no credentials.
import type { RequestHandler, Response } from 'express'
import { hasLocalClientToken, isOriginAllowed, type LocalTrustSettings } from '../../access/local-trust.ts'
import type { RequestFacts } from '../../access/request-facts.ts'
import { type createOperationFinder, listAllowedMethods } from './route-paths.ts'

/** Headers that a page may read besides those that are always readable. */
const EXPOSED_HEADERS = [
  'Accept-Ranges',
  'Allow',
  'Content-Disposition',
  'Content-Range',
  'ETag',
  'Link',
  'Location',
  'Mcp-Session-Id',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
  'X-Request-Id',
  'X-Should-Retry',
  'X-Svc-Job-Id',
].join(', ')

/** Seconds for which a browser caches the preflight. */
const MAX_AGE = '600'
/** The methods of an unknown path: the response to the request itself says what is wrong. */
const ALL_METHODS = 'DELETE, GET, HEAD, OPTIONS, POST, PUT'
/** Header names (RFC 9110, section 5.6.2), as browsers list them. */
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~-]+(?:, *[\w!#$%&'*+.^`|~-]+)*$/

/** Lets pages of allowed origins read the response, whatever it will be. */
export function allowCrossOriginRead(facts: RequestFacts, settings: LocalTrustSettings, response: Response): void {
  if (facts.origin === null || !(isOriginAllowed(facts, settings) || hasLocalClientToken(facts, settings))) return
  response.setHeader('Access-Control-Allow-Origin', facts.origin)
  response.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS)
}

/**
 * Answers a preflight request from an allowed origin. From other origins, the request goes on and is refused like any other. The answer grants
 * nothing: the request itself has to pass every check.
 */
export function answerCorsPreflight(
  settings: LocalTrustSettings,
  findOperations: ReturnType<typeof createOperationFinder>,
  factsOf: (response: Response) => RequestFacts,
): RequestHandler {
  return (request, response, next) => {
    const { headers, method, path } = request
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return next()
    if (!isPreflightAllowed(factsOf(response), settings)) return next()
    const operations = findOperations(path)
    const methods = operations.length > 0 ? listAllowedMethods(operations) : ALL_METHODS
    const names = headers['access-control-request-headers']
    response.setHeader('Access-Control-Allow-Origin', headers.origin!)
    response.setHeader('Access-Control-Allow-Methods', methods)
    response.setHeader('Access-Control-Max-Age', MAX_AGE)
    response.setHeader('Allow', methods)
    response.vary('Access-Control-Request-Headers')
    if (typeof names === 'string' && HEADER_NAMES.test(names)) response.setHeader('Access-Control-Allow-Headers', names)
    // Private Network Access: a page of the internet that reaches a server of this machine.
    if (headers['access-control-request-private-network'] === 'true')
      response.setHeader('Access-Control-Allow-Private-Network', 'true')
    response.status(204).end()
  }
}

/** The preflight of a desktop window lacks the client token: browsers send only the names of headers. */
function isPreflightAllowed(facts: RequestFacts, settings: LocalTrustSettings): boolean {
  if (facts.origin === null) return false
  return isOriginAllowed(facts, settings) || (facts.origin === 'null' && settings.local_client_token !== null)
}
