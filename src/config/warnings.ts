// Warnings about accepted settings that are probably not meant so.
import { closest, distance } from 'fastest-levenshtein'
import { isLoopbackHost, type RateLimitSettings } from './access.ts'
import type { Environment } from './settings-reader.ts'

/** Variables that the operator names, and variables that only tests and measurements read. */
const OTHERS = /^SVC_(?:SECRET|TEST|BENCH)_/

/** A warning for each variable `SVC_…` that is not in `settings`: it may be a misspelt setting. */
export function unknownSettingWarnings(environment: Environment, settings: ReadonlySet<string>): string[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith('SVC_') && !OTHERS.test(name) && !settings.has(name) && environment[name]?.trim())
    .sort()
    .map((name) => `${name} is not a setting and has no effect${suggestSetting(name, settings)}`)
}

/** Suggests the nearest setting if most of the name agrees. */
function suggestSetting(name: string, settings: ReadonlySet<string>): string {
  const nearest = closest(name, [...settings])
  return distance(name, nearest) * 2 < name.length - 'SVC_'.length ? `; did you mean ${nearest}?` : ''
}

/** Warns of settings that remove the request limit for callers of other machines. `host` is the address that the server listens on. */
export function rateLimitWarnings(limits: RateLimitSettings, host: string): string[] {
  const { rate_limit_disabled, rate_limit_trust_proxy } = limits
  if (rate_limit_disabled)
    return ['SVC_RATE_LIMIT_DISABLED is on: callers may send requests, and guess tokens, without a limit']
  if (!rate_limit_trust_proxy || isLoopbackHost(host)) return []
  return [
    `SVC_RATE_LIMIT_TRUST_PROXY is on and the server listens on ${host}: clients evade the limit with a forged X-Forwarded-For; name the proxies in SVC_TRUSTED_PROXIES instead`,
  ]
}
