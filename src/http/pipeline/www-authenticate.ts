// What a refusal says besides its body: that a bearer token is wanted, what the caller has to send, and on `/mcp` where a client finds out
// how to get one.
import { type OperationInfo, operationManifest } from '../../../generated/operations.ts'
import { REMOTE_UNAUTHENTICATED } from '../../access/auth-verdict.ts'
import type { RequestFacts } from '../../access/request-facts.ts'

/** Without one of these no client gets a token by itself: it reads both metadata, registers, has a person agree, and fetches it. */
const OAUTH_FLOW: readonly OperationInfo['operationId'][] = [
  'getProtectedResourceMetadataFor',
  'getAuthorizationServerMetadata',
  'registerClient',
  'showAuthorization',
  'decideAuthorization',
  'issueToken',
]

/** Whether the OAuth flow can complete: whether everything that it needs is served. */
export function isOauthFlowServed(
  operations: readonly Pick<OperationInfo, 'operationId' | 'implementation'>[],
): boolean {
  const served = new Set(
    operations.flatMap(({ operationId, implementation }) => (implementation === 'implemented' ? [operationId] : [])),
  )
  return OAUTH_FLOW.every((operationId) => served.has(operationId))
}

const HAS_OAUTH_FLOW = isOauthFlowServed(operationManifest)

type ChallengedCaller = Pick<RequestFacts, 'path' | 'token' | 'malformed'>

/**
 * The value of `WWW-Authenticate` (RFC 6750, section 3; RFC 9728, section 5.1) for a caller that is refused; null on `/mcp` where no client
 * gets a token by itself.
 * @param reason what the body of the refusal says
 * @param resource the address of `/mcp` for which tokens are made
 */
export function formatChallenge(
  caller: ChallengedCaller,
  reason: string,
  resource: string,
  has_oauth_flow: boolean = HAS_OAUTH_FLOW,
): string | null {
  // Who sent no token is told of no error (RFC 6750, section 3.1).
  const error = caller.token === null ? [] : ['error="invalid_token"']
  if (caller.path !== '/mcp')
    return `Bearer ${[...error, `error_description="${describeNeededToken(caller, reason)}"`].join(', ')}`
  if (!has_oauth_flow) return null
  const metadata = resource.replace(/\/mcp$/, '/.well-known/oauth-protected-resource/mcp')
  return `Bearer ${['realm="mcp"', ...error, `resource_metadata="${metadata}"`].join(', ')}`
}

const BEARER_HEADER_HINT = 'in the header Authorization: Bearer TOKEN'

/** What a caller has to send. It says nothing of a token but what the token itself shows, and has none of the characters that would have to be escaped. */
function describeNeededToken({ token, malformed }: ChallengedCaller, reason: string): string {
  if (token?.startsWith('nta_')) return 'A token that begins with nta_ is taken on /mcp alone. Send an access token.'
  if (token?.startsWith('nda_'))
    return 'A token that begins with nda_ is taken on the socket /ws alone. Send an access token.'
  if (token !== null) return 'The token is unknown, has expired or was revoked. Send another one.'
  if (malformed) return `The header Authorization holds no bearer token. Send one ${BEARER_HEADER_HINT}.`
  if (reason === REMOTE_UNAUTHENTICATED)
    return `Send an access token ${BEARER_HEADER_HINT}. POST /api/tokens makes one, on the machine of the server.`
  return `Send a token of the identity provider, or an access token, ${BEARER_HEADER_HINT}.`
}
