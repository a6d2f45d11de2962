// The `WWW-Authenticate` header of refusals: a bearer token is needed, what the caller has to send, and on `/mcp` where a client learns how to get a
// token.
import { type OperationInfo, operationManifest } from '../../../generated/operations.ts'
import { REMOTE_UNAUTHENTICATED } from '../../access/auth-verdict.ts'
import type { RequestFacts } from '../../access/request-facts.ts'

/** A client needs all of these to get a token by itself: it reads both metadata, registers, has a user agree, and fetches the token. */
const OAUTH_FLOW: readonly OperationInfo['operationId'][] = [
  'getProtectedResourceMetadataFor',
  'getAuthorizationServerMetadata',
  'registerClient',
  'showAuthorization',
  'decideAuthorization',
  'issueToken',
]

/** Whether the OAuth flow can complete: whether all its operations are served. */
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
 * The value of `WWW-Authenticate` (RFC 6750, section 3; RFC 9728, section 5.1) for a refused caller. Null on `/mcp` if the OAuth flow is not served.
 * @param reason the error in the body of the refusal
 * @param resource the URL of `/mcp` for which tokens are made
 */
export function formatChallenge(
  caller: ChallengedCaller,
  reason: string,
  resource: string,
  has_oauth_flow: boolean = HAS_OAUTH_FLOW,
): string | null {
  // A request without a token gets no error code (RFC 6750, section 3.1).
  const error = caller.token === null ? [] : ['error="invalid_token"']
  if (caller.path !== '/mcp')
    return `Bearer ${[...error, `error_description="${describeNeededToken(caller, reason)}"`].join(', ')}`
  if (!has_oauth_flow) return null
  const metadata = resource.replace(/\/mcp$/, '/.well-known/oauth-protected-resource/mcp')
  return `Bearer ${['realm="mcp"', ...error, `resource_metadata="${metadata}"`].join(', ')}`
}

const BEARER_HEADER_HINT = 'in the header Authorization: Bearer TOKEN'

/** Describes the token that the caller has to send. The text reveals no more of a token than the token itself, and needs no escapes. */
function describeNeededToken({ token, malformed }: ChallengedCaller, reason: string): string {
  if (token?.startsWith('nta_')) return 'A token that begins with nta_ is valid only on /mcp. Send an access token.'
  if (token?.startsWith('nda_'))
    return 'A token that begins with nda_ is valid only on the socket /ws. Send an access token.'
  if (token !== null) return 'The token is unknown, has expired or was revoked. Send another one.'
  if (malformed) return `The header Authorization holds no bearer token. Send one ${BEARER_HEADER_HINT}.`
  if (reason === REMOTE_UNAUTHENTICATED)
    return `Send an access token ${BEARER_HEADER_HINT}. POST /api/tokens makes one, on the machine of the server.`
  return `Send a token of the identity provider, or an access token, ${BEARER_HEADER_HINT}.`
}
