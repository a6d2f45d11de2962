// The procedure with its settings, stores and clock in hand, as the doors use it.
import { ServiceError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Platform } from '../platform.ts'
import { clientOf, isLoopbackAddress } from './client.ts'
import type { RequestFacts } from './facts.ts'
import { byPlace } from './local.ts'
import { type ProcedureSettings, principalOf, type TokenChecks } from './procedure.ts'
import { UNAVAILABLE, type Verdict } from './verdict.ts'

export type Gate = (facts: RequestFacts) => Verdict | Promise<Verdict>

/** Says once in the log why whoever stands behind a proxy is not believed to be local, and counted. */
export function createGate(
  settings: ProcedureSettings,
  tokens: TokenChecks,
  { log, platform }: { log: Log; platform: Platform },
): Gate {
  let told = false
  return (facts) => {
    if (facts.forwards && !told && losesByForwarding(facts, settings)) {
      told = true
      log.warn(
        'a caller at a trusted address sends forwarding headers or speaks HTTP/1.0, and is no proxy of SVC_TRUSTED_PROXIES: whoever is behind it is not the local user, and all of them share one rate limit unless SVC_RATE_LIMIT_TRUST_PROXY is set',
      )
    }
    try {
      return principalOf(facts, settings, tokens, platform.now())
    } catch (error) {
      // A database that cannot be read says nothing about a token.
      if (error instanceof ServiceError && error.code === 'SERVICE_UNAVAILABLE') return UNAVAILABLE
      throw error
    }
  }
}

/** Whether the caller's place would make it the local user or exempt from the limit, if it did not speak for others. */
function losesByForwarding(facts: RequestFacts, settings: ProcedureSettings): boolean {
  const client = clientOf(facts, settings.trusted_proxies)
  return client.unbelieved && (isLoopbackAddress(client.address) || byPlace(client, settings) !== null)
}
