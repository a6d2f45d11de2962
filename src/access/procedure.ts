// Who is calling: the one decision that stands before every door, for requests and upgrades alike. Pure over the facts of the
// request, the settings, what is known of tokens, and the time. The rate limit comes before it; which operations are public is not its business.
import type { Range } from '../net/addresses.ts'
import { clientOf } from './client.ts'
import type { RequestFacts } from './facts.ts'
import type { CallerFacts } from './limiter.ts'
import { type LocalSettings, localPrincipal } from './local.ts'
import type { Principal } from './principal.ts'
import { admitted, INVALID_TOKEN, REMOTE, refused, UNAUTHORIZED, UNAVAILABLE, type Verdict } from './verdict.ts'

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
  /** Every other token, in identity-provider mode, and who brings it. At once where it was seen lately. */
  identity(token: string, now: number, by: CallerFacts): Identified | Promise<Identified>
}

/** Where no token is known. */
export const NO_TOKENS: TokenChecks = {
  accessToken: () => null,
  mcpToken: () => null,
  appSession: () => null,
  delegatedToken: () => null,
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
  return settings.identity_provider ? byIdentity(facts, settings, tokens, now) : (byPlace(facts, settings) ?? REMOTE)
}

/** The verdict on a token of this service; null where the rules of the mode decide. */
function byOwnToken(
  { path, transport }: RequestFacts,
  token: string,
  tokens: TokenChecks,
  now: number,
): Verdict | null {
  if (token.startsWith('nta_'))
    return final(path === '/mcp' && transport === 'http' ? tokens.mcpToken(token, now) : null)
  if (token.startsWith('nda_')) {
    return final(path === '/ws' && transport === 'socket' ? tokens.appSession(token, now) : null)
  }
  const principal = token.startsWith('ntk_') ? tokens.accessToken(token, now) : tokens.delegatedToken(token, now)
  return principal && admitted(principal)
}

function final(principal: Principal | null): Verdict {
  return principal ? admitted(principal) : INVALID_TOKEN
}

function byIdentity(
  facts: RequestFacts,
  settings: ProcedureSettings,
  tokens: TokenChecks,
  now: number,
): Verdict | Promise<Verdict> {
  const { token } = facts
  const verdictOf = (identified: Identified): Verdict => {
    if ('principal' in identified) return admitted(identified.principal)
    if ('unavailable' in identified) return UNAVAILABLE
    return byPlace(facts, settings) ?? refused(identified.rejected)
  }
  if (token === null) return byPlace(facts, settings) ?? UNAUTHORIZED
  // A token of this service is nothing that anybody else should see.
  if (token.startsWith('ntk_')) return verdictOf({ rejected: 'Invalid token' })
  const identified = tokens.identity(token, now, facts)
  return identified instanceof Promise ? identified.then(verdictOf) : verdictOf(identified)
}

function byPlace(facts: RequestFacts, settings: ProcedureSettings): Verdict | null {
  const principal = localPrincipal(facts, clientOf(facts, settings.trusted_proxies), settings)
  return principal && admitted(principal)
}
