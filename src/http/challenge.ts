// What a refusal at `/mcp` says besides its body: that a bearer token is wanted, and where a client finds out how to get one.
import { type OperationInfo, operationManifest } from '../../generated/operations.ts'
import type { RequestFacts } from '../access/facts.ts'

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

/**
 * The value of `WWW-Authenticate` (RFC 6750, section 3; RFC 9728, section 5.1) for a caller that is refused, null on paths that have none.
 * @param resource the address of `/mcp` for which tokens are made
 */
export function challengeTo(
  { path, token }: Pick<RequestFacts, 'path' | 'token'>,
  resource: string,
  can_sign_in: boolean = SIGN_IN,
): string | null {
  if (path !== '/mcp') return null
  const metadata = resource.replace(/\/mcp$/, '/.well-known/oauth-protected-resource/mcp')
  const parts = ['realm="mcp"']
  // Who sent no token is told nothing of errors (RFC 6750, section 3.1).
  if (token !== null) parts.push('error="invalid_token"')
  if (can_sign_in) parts.push(`resource_metadata="${metadata}"`)
  return `Bearer ${parts.join(', ')}`
}
