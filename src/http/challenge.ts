// What a refusal says besides its body: that a bearer token is wanted, what the caller has to send, and on `/mcp` where a client finds out
// how to get one.
import { type OperationInfo, operationManifest } from '../../generated/operations.ts'
import type { RequestFacts } from '../access/facts.ts'
import { REMOTE } from '../access/verdict.ts'

/** Without one of these no client gets a token by itself: it reads both metadata, registers, has a person agree, and fetches it. */
const FLOW: readonly OperationInfo['operationId'][] = [
  'getProtectedResourceMetadataFor',
  'getAuthorizationServerMetadata',
  'registerClient',
  'showAuthorization',
  'decideAuthorization',
  'issueToken',
]

/** Whether the OAuth flow can complete: whether everything that it needs is served. */
export function canSignIn(operations: readonly Pick<OperationInfo, 'operationId' | 'implementation'>[]): boolean {
  const served = new Set(
    operations.flatMap(({ operationId, implementation }) => (implementation === 'implemented' ? [operationId] : [])),
  )
  return FLOW.every((operationId) => served.has(operationId))
}

const SIGN_IN = canSignIn(operationManifest)

type Caller = Pick<RequestFacts, 'path' | 'token' | 'malformed'>

/**
 * The value of `WWW-Authenticate` (RFC 6750, section 3; RFC 9728, section 5.1) for a caller that is refused; null on `/mcp` where no client
 * gets a token by itself.
 * @param reason what the body of the refusal says
 * @param resource the address of `/mcp` for which tokens are made
 */
export function challengeTo(
  caller: Caller,
  reason: string,
  resource: string,
  can_sign_in: boolean = SIGN_IN,
): string | null {
  // Who sent no token is told of no error (RFC 6750, section 3.1).
  const error = caller.token === null ? [] : ['error="invalid_token"']
  if (caller.path !== '/mcp')
    return `Bearer ${[...error, `error_description="${adviceTo(caller, reason)}"`].join(', ')}`
  if (!can_sign_in) return null
  const metadata = resource.replace(/\/mcp$/, '/.well-known/oauth-protected-resource/mcp')
  return `Bearer ${['realm="mcp"', ...error, `resource_metadata="${metadata}"`].join(', ')}`
}

const AS_HEADER = 'in the header Authorization: Bearer TOKEN'

/** What a caller has to send. It says nothing of a token but what the token itself shows, and has none of the characters that would have to be escaped. */
function adviceTo({ token, malformed }: Caller, reason: string): string {
  if (token?.startsWith('nta_')) return 'A token that begins with nta_ is taken on /mcp alone. Send an access token.'
  if (token?.startsWith('nda_'))
    return 'A token that begins with nda_ is taken on the socket /ws alone. Send an access token.'
  if (token !== null) return 'The token is unknown, has expired or was revoked. Send another one.'
  if (malformed) return `The header Authorization holds no bearer token. Send one ${AS_HEADER}.`
  if (reason === REMOTE)
    return `Send an access token ${AS_HEADER}. POST /api/tokens makes one, on the machine of the server.`
  return `Send a token of the identity provider, or an access token, ${AS_HEADER}.`
}
