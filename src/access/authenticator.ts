// Binds the authentication rules to settings, tokens and clock, for the transports.
import { isUnavailableError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Platform } from '../platform.ts'
import { AUTH_UNAVAILABLE, type AuthVerdict } from './auth-verdict.ts'
import { type AuthenticationSettings, resolvePrincipal, type TokenVerifiers } from './authentication-rules.ts'
import { isLoopbackAddress, resolveClientAddress } from './client-address.ts'
import { resolveByAddress } from './local-trust.ts'
import type { RequestFacts } from './request-facts.ts'

export type Authenticator = (facts: RequestFacts) => AuthVerdict | Promise<AuthVerdict>

/** Limits on the logged header names, since callers can invent them. */
const MAX_LOGGED_HEADERS = 10
const MAX_HEADER_NAME_LENGTH = 100

/** Logs once per header why clients behind a proxy are not trusted as local, and count for the rate limit. */
export function createAuthenticator(
  settings: AuthenticationSettings,
  tokens: TokenVerifiers,
  { log, platform }: { log: Log; platform: Platform },
): Authenticator {
  const loggedHeaders = new Set<string>()
  return (facts) => {
    const { peer, forwarded_by } = facts
    if (isUnloggedHeader(forwarded_by, loggedHeaders) && losesTrustByForwarding(facts, settings)) {
      loggedHeaders.add(forwarded_by)
      log.warn(
        { peer, forwarded_by: forwarded_by.slice(0, MAX_HEADER_NAME_LENGTH) },
        'a caller at a trusted address sends forwarding headers or speaks HTTP/1.0, and is no proxy of SVC_TRUSTED_PROXIES: clients behind it are not the local user, and share one rate limit unless SVC_RATE_LIMIT_TRUST_PROXY is set',
      )
    }
    try {
      const verdict = resolvePrincipal(facts, settings, tokens, platform.now())
      return verdict instanceof Promise ? verdict.catch(handleReadError) : verdict
    } catch (error) {
      return handleReadError(error)
    }
  }
}

/** A database that cannot be read says nothing about a token. */
function handleReadError(error: unknown): AuthVerdict {
  if (isUnavailableError(error)) return AUTH_UNAVAILABLE
  throw error
}

function isUnloggedHeader(name: string | null, loggedHeaders: ReadonlySet<string>): name is string {
  return name !== null && loggedHeaders.size < MAX_LOGGED_HEADERS && !loggedHeaders.has(name)
}

/** Whether the caller would be the local user, or exempt from the limit, if it were no proxy. */
function losesTrustByForwarding(facts: RequestFacts, settings: AuthenticationSettings): boolean {
  const client = resolveClientAddress(facts, settings.trusted_proxies)
  return (
    client.unbelieved &&
    !facts.own_request &&
    (isLoopbackAddress(client.address) || resolveByAddress(client, settings) !== null)
  )
}
