// Redirects a request (RFC 9110 §15.4), and removes what must not go to another origin.
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { OutgoingRequest } from '../../engine/node-api/services/outgoing-http.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { containsSecretSteps, createStrictMaskSteps } from '../secret-mask.ts'
import type { HttpHeaders } from './http-headers.ts'
import type { OutgoingTarget } from './target-url.ts'

/** One request under way, before and after each redirect. */
export interface RequestHop {
  readonly method: string
  readonly target: OutgoingTarget
  readonly headers: HttpHeaders
  readonly body: string | Uint8Array | null
}

type RequestSecrets = Pick<OutgoingRequest, 'secrets' | 'secret_body'>

const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
/** Names of headers that hold credentials, whatever their values look like. */
const CREDENTIAL_HEADER_NAME = /auth|cookie|token|secret|session|signature|password|key/

/** Returns the location of a redirect, or null where the answer is none. The location's bytes are UTF-8, unlike those of other headers. */
export function findRedirectLocation(status: number, headers: HttpHeaders): string | null {
  const location = headers.get('location')
  if (location === undefined || !REDIRECT_STATUSES.has(status)) return null
  return Buffer.from(location, 'latin1').toString('utf8')
}

function becomesGet(status: number, method: string): boolean {
  if (status === 303) return method !== 'GET' && method !== 'HEAD'
  return (status === 301 || status === 302) && method === 'POST'
}

function withoutCredentials(headers: HttpHeaders, holdsSecret: (value: string) => boolean): HttpHeaders {
  return new Map([...headers].filter(([name, value]) => !CREDENTIAL_HEADER_NAME.test(name) && !holdsSecret(value)))
}

function redirectRefusedError(text: string): NodeError {
  return new NodeError(text, 'redirect_refused')
}

/**
 * Returns the redirected request. It is made in steps, because its body may be long. A request to another origin has no credentials and no
 * secrets. @throws NodeError `redirect_refused` where it may not follow the redirect
 */
export function* createRedirectedHopSteps(
  hop: RequestHop,
  status: number,
  target: OutgoingTarget,
  { secrets, secret_body }: RequestSecrets,
): Steps<RequestHop> {
  const { shown, url } = hop.target
  if (url.protocol === 'https:' && target.url.protocol === 'http:') {
    throw redirectRefusedError(`"${shown}" redirects to an http URL, which is not encrypted. Use the final URL.`)
  }
  if (target.authorization !== null)
    throw redirectRefusedError(`"${shown}" redirects to a URL with a user name or password.`)
  const asGet = becomesGet(status, hop.method)
  const body = asGet ? null : hop.body
  const kept = asGet ? new Map([...hop.headers].filter(([name]) => !name.startsWith('content-'))) : hop.headers
  const method = asGet ? 'GET' : hop.method
  if (url.origin === target.url.origin) return { method, target, headers: kept, body }
  if (body !== null && (secret_body || (yield* containsSecretSteps(secrets, body)))) {
    throw redirectRefusedError(
      `"${shown}" redirects to "${target.shown}", and the request's body holds a secret. Use the final URL.`,
    )
  }
  const mask = yield* createStrictMaskSteps(secrets)
  return { method, target, headers: withoutCredentials(kept, (value) => mask(value) !== value), body }
}
