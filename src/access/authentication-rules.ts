// Who is calling: the one decision that stands before every door, for requests and upgrades alike. Pure over the facts of the
// request, the settings, what is known of tokens, and the time. The rate limit comes before it; which operations are public is not its business.
import type { IpRange } from '../net/ip-addresses.ts'
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

/** What an identity provider says of a token. */
export type IdentityVerdict =
  | { readonly principal: Principal }
  | { readonly rejected: string }
  | { readonly unavailable: true }

/** What is known of tokens. Each gives whom a token stands for at `now` (milliseconds), or null where it is not good. */
export interface TokenVerifiers {
  /** `ntk_…` */
  accessToken(token: string, now: number): Principal | null
  /** `nta_…` */
  mcpToken(token: string, now: number): Principal | null
  /** `nda_…` */
  appSession(token: string, now: number): Principal | null
  /** Without a prefix: signed by this service. */
  delegatedToken(token: string, now: number): Principal | null
  /** Whether one of these four that is not good at `now` was good before. */
  hasExpired(token: string, now: number): boolean
  /** Every other token, in identity-provider mode, and who brings it. At once where it was seen lately. */
  identity(token: string, now: number, by: CallerFacts): IdentityVerdict | Promise<IdentityVerdict>
}

/** Where no token is known. */
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
  const decided = facts.token === null ? null : resolveByOwnToken(facts, facts.token, tokens, now)
  if (decided) return decided
  if (settings.identity_provider) return resolveByIdentity(facts, settings, tokens, now)
  return (
    resolveByLocalTrust(facts, settings) ??
    refuseCaller(REMOTE_UNAUTHENTICATED, refusalCauseOf(facts, settings, tokens, now))
  )
}

/** The verdict on a token of this service; null where the rules of the mode decide. */
function resolveByOwnToken(
  { path, transport }: RequestFacts,
  token: string,
  tokens: TokenVerifiers,
  now: number,
): AuthVerdict | null {
  if (token.startsWith('nta_')) {
    const good = path === '/mcp' && transport === 'http' ? tokens.mcpToken(token, now) : MISPLACED
    return toFinalVerdict(good, token, tokens, now)
  }
  if (token.startsWith('nda_')) {
    const good = path === '/ws' && transport === 'socket' ? tokens.appSession(token, now) : MISPLACED
    return toFinalVerdict(good, token, tokens, now)
  }
  const principal = token.startsWith('ntk_') ? tokens.accessToken(token, now) : tokens.delegatedToken(token, now)
  return principal && admitPrincipal(principal)
}

const MISPLACED = 'misplaced'

function toFinalVerdict(
  good: Principal | null | typeof MISPLACED,
  token: string,
  tokens: TokenVerifiers,
  now: number,
): AuthVerdict {
  if (good === MISPLACED) return refuseCaller(INVALID_TOKEN, 'token_rejected')
  return good ? admitPrincipal(good) : refuseCaller(INVALID_TOKEN, tokenRefusalCause(token, tokens, now))
}

function tokenRefusalCause(token: string, tokens: TokenVerifiers, now: number): RefusalCause {
  return tokens.hasExpired(token, now) ? 'token_expired' : 'token_unknown'
}

/** Who sent a token wants to be known by it; else it is the first rule of the place that does not hold. */
function refusalCauseOf(
  facts: RequestFacts,
  settings: AuthenticationSettings,
  tokens: TokenVerifiers,
  now: number,
): RefusalCause {
  if (facts.token !== null) return tokenRefusalCause(facts.token, tokens, now)
  if (facts.malformed) return 'malformed_header'
  const cause = findLocalRefusalCause(facts, resolveClientAddress(facts, settings.trusted_proxies), settings)
  // Where somebody else says who calls, a token is what is missing, and not another place.
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
  // A token of this service is nothing that anybody else should see.
  if (token.startsWith('ntk_'))
    return resolveByLocalTrust(facts, settings) ?? refuseCaller('Invalid token', tokenRefusalCause(token, tokens, now))
  const verdictOf = (identified: IdentityVerdict): AuthVerdict => {
    if ('principal' in identified) return admitPrincipal(identified.principal)
    if ('unavailable' in identified) return AUTH_UNAVAILABLE
    const { rejected } = identified
    return resolveByLocalTrust(facts, settings) ?? refuseCaller(rejected, rejectionCause(rejected, token, tokens, now))
  }
  const identified = tokens.identity(token, now, facts)
  return identified instanceof Promise ? identified.then(verdictOf) : verdictOf(identified)
}

/** A token that the provider does not know may be one of a bridge that has expired. */
function rejectionCause(reason: string, token: string, tokens: TokenVerifiers, now: number): RefusalCause {
  return reason === EXPIRED_REASON || tokens.hasExpired(token, now) ? 'token_expired' : 'token_rejected'
}

/** As it is told of the provider's own tokens. */
const EXPIRED_REASON = 'Token expired'

function resolveByLocalTrust(facts: RequestFacts, settings: AuthenticationSettings): AuthVerdict | null {
  const principal = resolveLocalPrincipal(facts, resolveClientAddress(facts, settings.trusted_proxies), settings)
  return principal && admitPrincipal(principal)
}
