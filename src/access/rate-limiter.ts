// Rate limits: counts requests and upgrades by client address, before any other check. The transports make the responses.
import { LRUCache } from 'lru-cache'
import { type IpAddress, type IpRange, parseIpRange } from '../net/ip-addresses.ts'
import type { Platform } from '../platform.ts'
import { isLoopbackAddress, isWithinAny, parseForwardedFor, resolveClientAddress } from './client-address.ts'
import type { RequestFacts } from './request-facts.ts'

export interface RateLimiterSettings {
  readonly rate_limit_disabled: boolean
  /** Requests per window and client. */
  readonly rate_limit_max: number
  readonly rate_limit_window_ms: number
  /** Whether `X-Forwarded-For` tells clients apart for any peer. */
  readonly rate_limit_trust_proxy: boolean
  readonly trusted_proxies: readonly IpRange[]
}

/** `ip` counts all requests; `sign_in` also counts those that issue or try credentials. */
export type RateLimitPolicy = 'ip' | 'sign_in'

/** The state of the caller's quota after a request. */
export interface RateLimitResult {
  readonly policy: RateLimitPolicy
  readonly allowed: boolean
  /** Requests per window. */
  readonly limit: number
  readonly remaining: number
  /** Seconds until the quota is full again; at least 1. */
  readonly reset_seconds: number
  readonly window_seconds: number
}

interface Quota {
  readonly max: number
  readonly window_ms: number
}

interface WindowCount {
  taken: number
  readonly ends: number
}

const SIGN_IN: Quota = { max: 10, window_ms: 60_000 }

/**
 * Number of tracked clients. Beyond it, the client that was silent longest is forgotten and gets a new quota: at least as many others, with their own
 * quotas, have called meanwhile.
 */
export const MAX_TRACKED_CLIENTS = 100_000

/** The facts that tell callers apart. */
export type CallerFacts = Pick<RequestFacts, 'peer' | 'own_connection' | 'forwards' | 'forwarded_for' | 'is_recheck'>

/** Counts in fixed windows, each of which begins with a client's first request. */
export class RateLimiter {
  readonly #settings: RateLimiterSettings
  readonly #now: () => number
  readonly #quotas: Readonly<Record<RateLimitPolicy, Quota>>
  // Created for the first caller that counts: most servers have only local callers.
  readonly #counts = new Map<RateLimitPolicy, LRUCache<string, WindowCount>>()

  constructor(settings: RateLimiterSettings, { now }: Pick<Platform, 'now'>) {
    this.#settings = settings
    this.#now = now
    this.#quotas = { ip: { max: settings.rate_limit_max, window_ms: settings.rate_limit_window_ms }, sign_in: SIGN_IN }
  }

  /** Counts a request. Null if its caller is exempt. */
  take(facts: CallerFacts, policy: RateLimitPolicy = 'ip'): RateLimitResult | null {
    if (this.#settings.rate_limit_disabled) return null
    const client = clientKey(facts, this.#settings)
    if (client === null) return null
    const { max, window_ms } = this.#quotas[policy]
    const now = this.#now()
    const count = this.#count(policy, client, now, window_ms)
    count.taken++
    return {
      policy,
      allowed: count.taken <= max,
      limit: max,
      remaining: Math.max(0, max - count.taken),
      reset_seconds: Math.max(1, Math.ceil((count.ends - now) / 1000)),
      window_seconds: Math.max(1, Math.ceil(window_ms / 1000)),
    }
  }

  /** The client's open window, or a new one. */
  #count(policy: RateLimitPolicy, client: string, now: number, window_ms: number): WindowCount {
    let counts = this.#counts.get(policy)
    if (!counts) {
      counts = new LRUCache({ max: MAX_TRACKED_CLIENTS })
      this.#counts.set(policy, counts)
    }
    const found = counts.get(client)
    // A window that ends later than a new one would: the clock was set back.
    if (found && found.ends > now && found.ends <= now + window_ms) return found
    const window = { taken: 0, ends: now + window_ms }
    counts.set(client, window)
    return window
  }
}

/** The key of a client. Null for an exempt client: a process of this machine that is no proxy. */
export function clientKey(
  facts: CallerFacts,
  { trusted_proxies, rate_limit_trust_proxy }: Pick<RateLimiterSettings, 'trusted_proxies' | 'rate_limit_trust_proxy'>,
): string | null {
  const { address, forwarded, unbelieved } = resolveClientAddress(facts, trusted_proxies)
  if (!forwarded && !unbelieved) return isLoopbackAddress(address) ? null : addressKey(address)
  const named =
    rate_limit_trust_proxy && !facts.own_connection ? parseForwardedFor(facts.forwarded_for, trusted_proxies) : null
  // If a proxy names no client, or is not trusted, all its clients share its quota, even if the proxy is on this machine.
  return addressKey((forwarded ? address : named) ?? resolveClientAddress(facts, []).address)
}

/** IPv6 networks whose neighbours are strangers: NAT64 (RFC 6052), whose last 32 bits are an IPv4 address, and link-local. */
const PER_ADDRESS_NETWORKS = ['64:ff9b::/96', 'fe80::/10'].map(parseIpRange).filter((range) => range !== null)

/** An IPv4 address, or an address in such a network; else the /64 network, whose 2^64 addresses belong to the same client (RFC 6177). */
function addressKey(address: IpAddress | null): string {
  if (address === null) return 'unknown'
  if (address.kind() === 'ipv4' || isWithinAny(address, PER_ADDRESS_NETWORKS)) return address.toString()
  return Buffer.from(address.toByteArray().slice(0, 8)).toString('hex')
}

/** The headers of a response to a counted client (draft-ietf-httpapi-ratelimit-headers). */
export function formatRateLimitHeaders(taken: readonly RateLimitResult[]): {
  RateLimit: string
  'RateLimit-Policy': string
} {
  return {
    RateLimit: taken.map((one) => `"${one.policy}";r=${one.remaining};t=${one.reset_seconds}`).join(', '),
    'RateLimit-Policy': taken.map((one) => `"${one.policy}";q=${one.limit};w=${one.window_seconds}`).join(', '),
  }
}
