// The principal: the authenticated caller, and what it may do.
import type { OwnerScope } from '../db/owner-scope.ts'

/** What a token allows. People who are trusted or signed in have all three scopes. */
export type TokenScope = 'read' | 'write' | 'admin'

/** Why a caller is trusted. */
export type TrustBasis =
  | 'loopback'
  | 'trusted_network'
  | 'identity_provider'
  | 'access_token'
  | 'delegated_token'
  | 'mcp_token'
  | 'app_session'

/** An authenticated caller. It scopes all reads and writes of rows. */
export interface Principal extends OwnerScope {
  readonly user_id: string
  readonly workspace_id: string | null
  readonly trusted_as: TrustBasis
  /** The id of the caller's token, if this service stores or made it. */
  readonly token_id: string | null
  readonly scopes: readonly TokenScope[]
  /** May call `/admin/*`. */
  readonly administrator: boolean
  /** The deployed app that a visitor's session is confined to. */
  readonly app_id: string | null
  /** When the credential ends, in milliseconds since the epoch; null if the end is unknown. */
  readonly expires_at: number | null
}

export const ALL_SCOPES: readonly TokenScope[] = ['read', 'write', 'admin']

/** The only user of Local mode. */
export const LOCAL_USER = '1'

/** The local user at this machine. */
export const LOCAL_PRINCIPAL: Principal = {
  user_id: LOCAL_USER,
  workspace_id: null,
  trusted_as: 'loopback',
  token_id: null,
  scopes: ALL_SCOPES,
  administrator: true,
  app_id: null,
  expires_at: null,
}

/** The local user in a network that the operator trusts. */
export const NETWORK_PRINCIPAL: Principal = { ...LOCAL_PRINCIPAL, trusted_as: 'trusted_network' }

/** Whether a caller is trusted by its address: it has no credential that could end. */
export function isTrustedByAddress({ trusted_as }: Principal): boolean {
  return trusted_as === 'loopback' || trusted_as === 'trusted_network'
}

/** Whether a principal is a person, not a program with a token. Only a person may mint credentials. */
export function isPerson(principal: Principal): boolean {
  return isTrustedByAddress(principal) || principal.trusted_as === 'identity_provider'
}

/** Stands for all delegated tokens in place of a stored id: these end when the operator disables bridges. */
export const DELEGATED_TOKEN_ID = 'delegated'

/** Lifetime of links whose token has an end that only the identity provider knows, in milliseconds. */
const DEFAULT_LIFETIME_MS = 300_000

/** The credential of links that a principal makes, such as download URLs: they end with a token that may be revoked, and at its expiry. */
export function linkCredentialOf({ trusted_as, token_id, expires_at }: Principal, now: number) {
  if (trusted_as === 'delegated_token') return { token_id: DELEGATED_TOKEN_ID, expires_at }
  if (trusted_as === 'identity_provider') return { token_id: null, expires_at: expires_at ?? now + DEFAULT_LIFETIME_MS }
  const isStored = trusted_as === 'access_token' || trusted_as === 'mcp_token'
  return { token_id: isStored ? token_id : null, expires_at }
}

/** Whether the principal's credential allows `scope`. A visitor of an app may only use the socket. */
export function canCall({ scopes, app_id }: Principal, scope: TokenScope): boolean {
  return app_id === null && scopes.includes(scope)
}

/** Whether the principal is an administrator with a credential for that. */
export function canAdminister(principal: Principal): boolean {
  return principal.administrator && canCall(principal, 'admin')
}
