// Authentication: decides for requests and upgrades of all transports who the caller is. A pure function of the request, the settings, the known
// tokens and the time. The rate limit comes before it; whether an operation is public is decided elsewhere.
import type { IpRange } from '../net/ip-addresses.ts'
import { thenOrNow } from '../shared/then-or-now.ts'
import {
  AUTH_UNAVAILABLE,
  type AuthVerdict,
  admitPrincipal,
  INVALID_TOKEN,
  REMOTE_UNAUTHENTICATED,
  type RefusalCause,
  refuseCaller,
  UNAUTHORIZED,
} from './auth-verdict.ts'
import { resolveClientAddress } from './client-address.ts'
import { findLocalRefusalCause, type LocalTrustSettings, resolveLocalPrincipal } from './local-trust.ts'
import type { Principal } from './principal.ts'
import type { CallerFacts } from './rate-limiter.ts'
import type { RequestFacts } from './request-facts.ts'

export interface AuthenticationSettings extends LocalTrustSettings {
  /** Null: Local mode. */
  readonly identity_provider: object | null
  readonly trusted_proxies: readonly IpRange[]
}

/** The identity provider's verdict on a token. */
export type IdentityVerdict =
  | { readonly principal: Principal }
  | { readonly rejected: string }
  | { readonly unavailable: true }

/** Verifiers of each kind of token. Each returns the principal at `now` (milliseconds), or null if the token is not valid. */
export interface TokenVerifiers {
  /** `ntk_…`. Returns at once if the row of the token is cached. */
  accessToken(token: string, now: number): Principal | null | Promise<Principal | null>
  /** `nta_…` */
  mcpToken(token: string, now: number): Principal | null | Promise<Principal | null>
  /** `nda_…` */
  appSession(token: string, now: number): Principal | null
  /** Tokens without a prefix, signed by this service. */
  delegatedToken(token: string, now: number): Principal | null
  /** Whether a token of these four kinds that is not valid at `now` was valid before. */
  hasExpired(token: string, now: number): boolean
  /** Every other token, in identity-provider mode. Returns at once if the verdict is cached. */
  identity(token: string, now: number, by: CallerFacts): IdentityVerdict | Promise<IdentityVerdict>
}

/** For a service without tokens. */
export const NO_TOKEN_VERIFIERS: TokenVerifiers = {
  accessToken: () => null,
  mcpToken: () => null,
  appSession: () => null,
  delegatedToken: () => null,
  hasExpired: () => false,
  identity: () => ({ rejected: 'Invalid token' }),
}

export function resolvePrincipal(
  facts: RequestFacts,
  settings: AuthenticationSettings,
  tokens: TokenVerifiers,
  now: number,
): AuthVerdict | Promise<AuthVerdict> {
  const verdict = facts.token === null ? null : resolveByOwnToken(facts, facts.token, tokens, now)
  return thenOrNow(verdict, (own) => own ?? resolveByMode(facts, settings, tokens, now))
}

/** The verdict on a caller without a valid token of this service. */
function resolveByMode(
  facts: RequestFacts,
  settings: AuthenticationSettings,
  tokens: TokenVerifiers,
  now: number,
): AuthVerdict | Promise<AuthVerdict> {
  if (settings.identity_provider) return resolveByIdentity(facts, settings, tokens, now)
  return (
    resolveByLocalTrust(facts, settings) ??
    refuseCaller(REMOTE_UNAUTHENTICATED, refusalCauseOf(facts, settings, tokens, now))
  )
}

/** The verdict on a token of this service; null if the rules of the mode decide. */
function resolveByOwnToken(
  { path, transport }: RequestFacts,
  token: string,
  tokens: TokenVerifiers,
  now: number,
): AuthVerdict | null | Promise<AuthVerdict | null> {
  const toFinalVerdict = (principal: Principal | null) =>
    principal ? admitPrincipal(principal) : refuseCaller(INVALID_TOKEN, tokenRefusalCause(token, tokens, now))
  if (token.startsWith('nta_'))
    return path === '/mcp' && transport === 'http'
      ? thenOrNow(tokens.mcpToken(token, now), toFinalVerdict)
      : MISPLACED_TOKEN
  if (token.startsWith('nda_'))
    return path === '/ws' && transport === 'socket' ? toFinalVerdict(tokens.appSession(token, now)) : MISPLACED_TOKEN
  const found = token.startsWith('ntk_') ? tokens.accessToken(token, now) : tokens.delegatedToken(token, now)
  return thenOrNow(found, (principal) => principal && admitPrincipal(principal))
}

const MISPLACED_TOKEN = refuseCaller(INVALID_TOKEN, 'token_rejected')

function tokenRefusalCause(token: string, tokens: TokenVerifiers, now: number): RefusalCause {
  return tokens.hasExpired(token, now) ? 'token_expired' : 'token_unknown'
}

/** The cause is the token, if one was sent; else the first rule of local trust that fails. */
function refusalCauseOf(
  facts: RequestFacts,
  settings: AuthenticationSettings,
  tokens: TokenVerifiers,
  now: number,
): RefusalCause {
  if (facts.token !== null) return tokenRefusalCause(facts.token, tokens, now)
  if (facts.malformed) return 'malformed_header'
  const cause = findLocalRefusalCause(facts, resolveClientAddress(facts, settings.trusted_proxies), settings)
  // With an identity provider, the caller lacks a token, not a trusted place.
  return cause === 'place' && settings.identity_provider ? 'no_token' : cause
}

function resolveByIdentity(
  facts: RequestFacts,
  settings: AuthenticationSettings,
  tokens: TokenVerifiers,
  now: number,
): AuthVerdict | Promise<AuthVerdict> {
  const { token } = facts
  if (token === null)
    return (
      resolveByLocalTrust(facts, settings) ?? refuseCaller(UNAUTHORIZED, refusalCauseOf(facts, settings, tokens, now))
    )
  // Tokens of this service must not be sent to the provider.
  if (token.startsWith('ntk_'))
    return resolveByLocalTrust(facts, settings) ?? refuseCaller('Invalid token', tokenRefusalCause(token, tokens, now))
  const verdictOf = (identified: IdentityVerdict): AuthVerdict => {
    if ('principal' in identified) return admitPrincipal(identified.principal)
    if ('unavailable' in identified) return AUTH_UNAVAILABLE
    const { rejected } = identified
    return resolveByLocalTrust(facts, settings) ?? refuseCaller(rejected, rejectionCause(rejected, token, tokens, now))
  }
  const identified = tokens.identity(token, now, facts)
  return thenOrNow(identified, verdictOf)
}

/** A token that the provider does not know may be an expired delegated token. */
function rejectionCause(reason: string, token: string, tokens: TokenVerifiers, now: number): RefusalCause {
  return reason === EXPIRED_REASON || tokens.hasExpired(token, now) ? 'token_expired' : 'token_rejected'
}

/** The reason for expired tokens of the provider. */
const EXPIRED_REASON = 'Token expired'

function resolveByLocalTrust(facts: RequestFacts, settings: AuthenticationSettings): AuthVerdict | null {
  const principal = resolveLocalPrincipal(facts, resolveClientAddress(facts, settings.trusted_proxies), settings)
  return principal && admitPrincipal(principal)
}
