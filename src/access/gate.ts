// The procedure with its settings, stores and clock in hand, as the doors use it.
import { isUnavailable } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Platform } from '../platform.ts'
import { clientOf, isLoopbackAddress } from './client.ts'
import type { RequestFacts } from './facts.ts'
import { byPlace } from './local.ts'
import { type ProcedureSettings, principalOf, type TokenChecks } from './procedure.ts'
import { UNAVAILABLE, type Verdict } from './verdict.ts'

export type Gate = (facts: RequestFacts) => Verdict | Promise<Verdict>

/** Of so many names of headers it is told, and so much of a name is shown: callers can make them up. */
const MOST_TOLD = 10
const LONGEST_NAME = 100

/** Says in the log, once for each header that says so, why whoever stands behind a proxy is not believed to be local, and counted. */
export function createGate(
  settings: ProcedureSettings,
  tokens: TokenChecks,
  { log, platform }: { log: Log; platform: Platform },
): Gate {
  const told = new Set<string>()
  return (facts) => {
    const { peer, forwarded_by } = facts
    if (isNews(forwarded_by, told) && losesByForwarding(facts, settings)) {
      told.add(forwarded_by)
      log.warn(
        { peer, forwarded_by: forwarded_by.slice(0, LONGEST_NAME) },
        'a caller at a trusted address sends forwarding headers or speaks HTTP/1.0, and is no proxy of SVC_TRUSTED_PROXIES: whoever is behind it is not the local user, and all of them share one rate limit unless SVC_RATE_LIMIT_TRUST_PROXY is set',
      )
    }
    try {
      return principalOf(facts, settings, tokens, platform.now())
    } catch (error) {
      // A database that cannot be read says nothing about a token.
      if (isUnavailable(error)) return UNAVAILABLE
      throw error
    }
  }
}

function isNews(name: string | null, told: ReadonlySet<string>): name is string {
  return name !== null && told.size < MOST_TOLD && !told.has(name)
}

/** Whether the caller's place would make it the local user or exempt from the limit, if it did not speak for others. */
function losesByForwarding(facts: RequestFacts, settings: ProcedureSettings): boolean {
  const client = clientOf(facts, settings.trusted_proxies)
  return (
    client.unbelieved && !facts.own_request && (isLoopbackAddress(client.address) || byPlace(client, settings) !== null)
  )
}
