// Settings that are taken and are not what somebody will have meant.
import { closest, distance } from 'fastest-levenshtein'
import { isLoopbackHost, type RateLimitSettings } from './access.ts'
import type { Environment } from './settings-reader.ts'

/** Those that have a name of the operator's own, and those that only tests and measurements read. */
const OTHERS = /^SVC_(?:SECRET|TEST|BENCH)_/

/** A warning for each variable `SVC_…` that is none of `settings`: it may be one of them, misspelt. */
export function unknownSettingWarnings(environment: Environment, settings: ReadonlySet<string>): string[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith('SVC_') && !OTHERS.test(name) && !settings.has(name) && environment[name]?.trim())
    .sort()
    .map((name) => `${name} is no setting, and has no effect${suggestSetting(name, settings)}`)
}

/** What is nearest, where most of the name is as it was written. */
function suggestSetting(name: string, settings: ReadonlySet<string>): string {
  const nearest = closest(name, [...settings])
  return distance(name, nearest) * 2 < name.length - 'SVC_'.length ? `; did you mean ${nearest}?` : ''
}

/** What takes the limit of requests from the outside world. `host` is the address that the server listens on. */
export function rateLimitWarnings(limits: RateLimitSettings, host: string): string[] {
  const { rate_limit_disabled, rate_limit_trust_proxy } = limits
  if (rate_limit_disabled) return ['SVC_RATE_LIMIT_DISABLED is on: callers may ask, and guess tokens, without a limit']
  if (!rate_limit_trust_proxy || isLoopbackHost(host)) return []
  return [
    `SVC_RATE_LIMIT_TRUST_PROXY is on and the server listens on ${host}: whoever makes up an X-Forwarded-For has no limit; name the proxies in SVC_TRUSTED_PROXIES instead`,
  ]
}
