// The procedure with its settings, stores and clock in hand, as the doors use it.
import { isUnavailableError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Platform } from '../platform.ts'
import { AUTH_UNAVAILABLE, type AuthVerdict } from './auth-verdict.ts'
import { type AuthenticationSettings, resolvePrincipal, type TokenVerifiers } from './authentication-rules.ts'
import { isLoopbackAddress, resolveClientAddress } from './client-address.ts'
import { resolveByAddress } from './local-trust.ts'
import type { RequestFacts } from './request-facts.ts'

export type Authenticator = (facts: RequestFacts) => AuthVerdict | Promise<AuthVerdict>

/** Of so many names of headers it is told, and so much of a name is shown: callers can make them up. */
const MAX_LOGGED_HEADERS = 10
const MAX_HEADER_NAME_LENGTH = 100

/** Says in the log, once for each header that says so, why whoever stands behind a proxy is not believed to be local, and counted. */
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
        'a caller at a trusted address sends forwarding headers or speaks HTTP/1.0, and is no proxy of SVC_TRUSTED_PROXIES: whoever is behind it is not the local user, and all of them share one rate limit unless SVC_RATE_LIMIT_TRUST_PROXY is set',
      )
    }
    try {
      return resolvePrincipal(facts, settings, tokens, platform.now())
    } catch (error) {
      // A database that cannot be read says nothing about a token.
      if (isUnavailableError(error)) return AUTH_UNAVAILABLE
      throw error
    }
  }
}

function isUnloggedHeader(name: string | null, loggedHeaders: ReadonlySet<string>): name is string {
  return name !== null && loggedHeaders.size < MAX_LOGGED_HEADERS && !loggedHeaders.has(name)
}

/** Whether the caller's place would make it the local user or exempt from the limit, if it did not speak for others. */
function losesTrustByForwarding(facts: RequestFacts, settings: AuthenticationSettings): boolean {
  const client = resolveClientAddress(facts, settings.trusted_proxies)
  return (
    client.unbelieved &&
    !facts.own_request &&
    (isLoopbackAddress(client.address) || resolveByAddress(client, settings) !== null)
  )
}
