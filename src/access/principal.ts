// Who is calling.
import type { OwnerScope } from '../db/owner-scope.ts'

/** What a token is good for. People who are trusted or signed in have all three. */
export type TokenScope = 'read' | 'write' | 'admin'

/** Why a caller is believed to be who it is. */
export type TrustBasis =
  | 'loopback'
  | 'trusted_network'
  | 'identity_provider'
  | 'access_token'
  | 'delegated_token'
  | 'mcp_token'
  | 'app_session'

/** A caller that was let in. Rows are read and written through it. */
export interface Principal extends OwnerScope {
  readonly user_id: string
  readonly workspace_id: string | null
  readonly trusted_as: TrustBasis
  /** The token that it came with, where the service keeps or made it. */
  readonly token_id: string | null
  readonly scopes: readonly TokenScope[]
  /** May call `/admin/*`. */
  readonly administrator: boolean
  /** The deployed app that a visitor's session is confined to. */
  readonly app_id: string | null
  /** When what it came with ends, in milliseconds since the epoch; null where no end is known. */
  readonly expires_at: number | null
}

export const ALL_SCOPES: readonly TokenScope[] = ['read', 'write', 'admin']

/** The one user of Local mode. */
export const LOCAL_USER = '1'

/** The local user, as somebody who sits at this machine. */
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

/** The local user, out of a network that the operator trusts. */
export const NETWORK_PRINCIPAL: Principal = { ...LOCAL_PRINCIPAL, trusted_as: 'trusted_network' }

/** Whether a principal is a person, and not a program with a token. Only a person hands out credentials. */
export function isPerson({ trusted_as }: Principal): boolean {
  return trusted_as === 'loopback' || trusted_as === 'trusted_network' || trusted_as === 'identity_provider'
}

/** Stands for any delegated token, where the id of a stored one would stand: it ends when no bridge may act for anybody any more. */
export const DELEGATED_TOKEN_ID = 'delegated'

/** How long things last that a token hands on of which the identity provider alone knows when it ends, in milliseconds. */
const DEFAULT_LIFETIME_MS = 300_000

/** What ends the things that a principal hands on at a time, such as download addresses: a token that may be revoked, and its end. */
export function linkCredentialOf({ trusted_as, token_id, expires_at }: Principal, now: number) {
  if (trusted_as === 'delegated_token') return { token_id: DELEGATED_TOKEN_ID, expires_at }
  if (trusted_as === 'identity_provider') return { token_id: null, expires_at: expires_at ?? now + DEFAULT_LIFETIME_MS }
  const isStored = trusted_as === 'access_token' || trusted_as === 'mcp_token'
  return { token_id: isStored ? token_id : null, expires_at }
}

/** Whether what a principal came with is good for something that needs `scope`. A visitor of an app has its socket alone. */
export function canCall({ scopes, app_id }: Principal, scope: TokenScope): boolean {
  return app_id === null && scopes.includes(scope)
}

/** Whether it may do what is the administrator's, and came with something that is good for that. */
export function canAdminister(principal: Principal): boolean {
  return principal.administrator && canCall(principal, 'admin')
}
