// Who is calling: the one decision that stands before every door, for requests and upgrades alike. Pure over the facts of the
// request, the settings, what is known of tokens, and the time. The rate limit comes before it; which operations are public is not its business.
import type { Range } from '../net/addresses.ts'
import { clientOf } from './client.ts'
import type { RequestFacts } from './facts.ts'
import type { CallerFacts } from './limiter.ts'
import { type LocalSettings, localCause, localPrincipal } from './local.ts'
import type { Principal } from './principal.ts'
import {
  admitted,
  type Cause,
  INVALID_TOKEN,
  REMOTE,
  refused,
  UNAUTHORIZED,
  UNAVAILABLE,
  type Verdict,
} from './verdict.ts'

export interface ProcedureSettings extends LocalSettings {
  /** Null: Local mode. */
  readonly identity_provider: object | null
  readonly trusted_proxies: readonly Range[]
}

/** What an identity provider says of a token. */
export type Identified =
  | { readonly principal: Principal }
  | { readonly rejected: string }
  | { readonly unavailable: true }

/** What is known of tokens. Each gives whom a token stands for at `now` (milliseconds), or null where it is not good. */
export interface TokenChecks {
  /** `ntk_…` */
  accessToken(token: string, now: number): Principal | null
  /** `nta_…` */
  mcpToken(token: string, now: number): Principal | null
  /** `nda_…` */
  appSession(token: string, now: number): Principal | null
  /** Without a prefix: signed by this service. */
  delegatedToken(token: string, now: number): Principal | null
  /** Whether one of these four that is not good at `now` was good before. */
  hasEnded(token: string, now: number): boolean
  /** Every other token, in identity-provider mode, and who brings it. At once where it was seen lately. */
  identity(token: string, now: number, by: CallerFacts): Identified | Promise<Identified>
}

/** Where no token is known. */
export const NO_TOKENS: TokenChecks = {
  accessToken: () => null,
  mcpToken: () => null,
  appSession: () => null,
  delegatedToken: () => null,
  hasEnded: () => false,
  identity: () => ({ rejected: 'Invalid token' }),
}

export function principalOf(
  facts: RequestFacts,
  settings: ProcedureSettings,
  tokens: TokenChecks,
  now: number,
): Verdict | Promise<Verdict> {
  const decided = facts.token === null ? null : byOwnToken(facts, facts.token, tokens, now)
  if (decided) return decided
  if (settings.identity_provider) return byIdentity(facts, settings, tokens, now)
  return byPlace(facts, settings) ?? refused(REMOTE, causeOf(facts, settings, tokens, now))
}

/** The verdict on a token of this service; null where the rules of the mode decide. */
function byOwnToken(
  { path, transport }: RequestFacts,
  token: string,
  tokens: TokenChecks,
  now: number,
): Verdict | null {
  if (token.startsWith('nta_')) {
    const good = path === '/mcp' && transport === 'http' ? tokens.mcpToken(token, now) : MISPLACED
    return final(good, token, tokens, now)
  }
  if (token.startsWith('nda_')) {
    const good = path === '/ws' && transport === 'socket' ? tokens.appSession(token, now) : MISPLACED
    return final(good, token, tokens, now)
  }
  const principal = token.startsWith('ntk_') ? tokens.accessToken(token, now) : tokens.delegatedToken(token, now)
  return principal && admitted(principal)
}

const MISPLACED = 'misplaced'

function final(good: Principal | null | typeof MISPLACED, token: string, tokens: TokenChecks, now: number): Verdict {
  if (good === MISPLACED) return refused(INVALID_TOKEN, 'token_rejected')
  return good ? admitted(good) : refused(INVALID_TOKEN, tokenCause(token, tokens, now))
}

function tokenCause(token: string, tokens: TokenChecks, now: number): Cause {
  return tokens.hasEnded(token, now) ? 'token_expired' : 'token_unknown'
}

/** Who sent a token wants to be known by it; else it is the first rule of the place that does not hold. */
function causeOf(facts: RequestFacts, settings: ProcedureSettings, tokens: TokenChecks, now: number): Cause {
  if (facts.token !== null) return tokenCause(facts.token, tokens, now)
  if (facts.malformed) return 'malformed_header'
  const cause = localCause(facts, clientOf(facts, settings.trusted_proxies), settings)
  // Where somebody else says who calls, a token is what is missing, and not another place.
  return cause === 'place' && settings.identity_provider ? 'no_token' : cause
}

function byIdentity(
  facts: RequestFacts,
  settings: ProcedureSettings,
  tokens: TokenChecks,
  now: number,
): Verdict | Promise<Verdict> {
  const { token } = facts
  if (token === null) return byPlace(facts, settings) ?? refused(UNAUTHORIZED, causeOf(facts, settings, tokens, now))
  // A token of this service is nothing that anybody else should see.
  if (token.startsWith('ntk_'))
    return byPlace(facts, settings) ?? refused('Invalid token', tokenCause(token, tokens, now))
  const verdictOf = (identified: Identified): Verdict => {
    if ('principal' in identified) return admitted(identified.principal)
    if ('unavailable' in identified) return UNAVAILABLE
    const { rejected } = identified
    return byPlace(facts, settings) ?? refused(rejected, rejectedCause(rejected, token, tokens, now))
  }
  const identified = tokens.identity(token, now, facts)
  return identified instanceof Promise ? identified.then(verdictOf) : verdictOf(identified)
}

/** A token that the provider does not know may be one of a bridge that has expired. */
function rejectedCause(reason: string, token: string, tokens: TokenChecks, now: number): Cause {
  return reason === EXPIRED || tokens.hasEnded(token, now) ? 'token_expired' : 'token_rejected'
}

/** As it is told of the provider's own tokens. */
const EXPIRED = 'Token expired'

function byPlace(facts: RequestFacts, settings: ProcedureSettings): Verdict | null {
  const principal = localPrincipal(facts, clientOf(facts, settings.trusted_proxies), settings)
  return principal && admitted(principal)
}
