// Verifies tokens by the identity provider. Each token is looked up once at a time, and its verdict is cached for a minute.
import { setTimeout } from 'node:timers/promises'
import type { Log } from '../../log.ts'
import type { Platform } from '../../platform.ts'
import type { IdentityVerdict, TokenVerifiers } from '../authentication-rules.ts'
import type { CallerFacts } from '../rate-limiter.ts'
import { RecheckQueue } from './lookup-quota.ts'
import type { IdentityDependencies, ProviderEndpoint } from './provider-client.ts'
import { createJwtVerifier, createOpaqueTokenVerifier, isJwtFormat } from './token-verifiers.ts'
import { hashToken, IdentityVerdictCache } from './verdict-cache.ts'

export interface IdentityVerifierOptions {
  readonly platform: Pick<Platform, 'now'>
  readonly log: Log
  /** Users of the provider who are administrators. */
  readonly admin_users: readonly string[]
  /** The key of a caller; null for a caller without a limit of its own. */
  readonly callerOf: (facts: CallerFacts) => string | null
  /** Aborts pending requests. */
  readonly stopping?: AbortSignal
  readonly fetch?: typeof fetch
  readonly wait?: IdentityDependencies['wait']
  /** Milliseconds for which a verdict is cached, if the token does not end before. */
  readonly ttl_ms?: number
  /** Number of cached verdicts. */
  readonly max_entries?: number
  /** Milliseconds that a response of the provider may take. */
  readonly timeout_ms?: number
}

const TTL_MS = 60_000
const MAX_ENTRIES = 2_000
const TIMEOUT_MS = 5_000

async function wait(ms: number, stopping: AbortSignal | null): Promise<void> {
  // The timer rejects only when the server stops.
  await setTimeout(ms, undefined, { ...(stopping && { signal: stopping }), ref: false }).catch(() => {})
}

/**
 * Verifies tokens by the provider at `url`, for which `key` identifies this server. A cached verdict is returned at once, any other as a promise. The
 * promise settles within `timeout_ms`, or twice that and two seconds while the provider's keys change. A recheck may wait for its
 * place before.
 */
export function createIdentityVerifier(
  { url, key }: { readonly url: string; readonly key: string },
  options: IdentityVerifierOptions,
): TokenVerifiers['identity'] {
  const { platform, log, callerOf, ttl_ms = TTL_MS, max_entries = MAX_ENTRIES } = options
  const dependencies: IdentityDependencies = {
    platform,
    log,
    wait: options.wait ?? wait,
    admin_users: new Set(options.admin_users),
  }
  const provider: ProviderEndpoint = {
    base: `${url}/auth/v1`,
    fetch: options.fetch ?? fetch,
    timeout_ms: options.timeout_ms ?? TIMEOUT_MS,
    stopping: options.stopping ?? null,
  }
  const cache = new IdentityVerdictCache(max_entries)
  const [signed, opaque] = [
    createJwtVerifier(provider, dependencies),
    createOpaqueTokenVerifier(provider, key, dependencies),
  ]
  const pendingLookups = new Map<string, Promise<IdentityVerdict>>()

  const verify = (token: string, caller: CallerFacts) => {
    if (isJwtFormat(token)) return signed(token)
    return caller.is_recheck ? opaque.recheck(token) : opaque.verify(token, callerOf(caller))
  }
  const lookUp = async (token: string, digest: string, now: number, caller: CallerFacts): Promise<IdentityVerdict> => {
    try {
      const { identified, ends } = await verify(token, caller)
      // Counted from the request: the response may be as old as that.
      const until = Math.min(now + ttl_ms, ends)
      if (until > now) cache.set(digest, identified, now, until)
      return identified
    } finally {
      pendingLookups.delete(digest)
    }
  }
  const startLookUp = (token: string, digest: string, now: number, caller: CallerFacts): Promise<IdentityVerdict> => {
    const lookup = lookUp(token, digest, now, caller)
    pendingLookups.set(digest, lookup)
    return lookup
  }
  const rechecks = new RecheckQueue()
  /** Only the recheck waits for its place. Requests and rechecks with the same token join a lookup that has begun. */
  const recheck = async (token: string, digest: string, caller: CallerFacts): Promise<IdentityVerdict> => {
    await rechecks.acquire()
    try {
      const now = platform.now()
      const known = cache.get(digest, now) ?? (await pendingLookups.get(digest))
      // The lookup of a request may have been refused by the quota of its caller, which does not hold for rechecks.
      if (known && !('unavailable' in known)) return known
      return await (pendingLookups.get(digest) ?? startLookUp(token, digest, now, caller))
    } finally {
      rechecks.release()
    }
  }
  return (token, now, caller) => {
    const digest = hashToken(token)
    const known = cache.get(digest, now)
    if (known) return known
    if (caller.is_recheck && !isJwtFormat(token)) return recheck(token, digest, caller)
    return pendingLookups.get(digest) ?? startLookUp(token, digest, now, caller)
  }
}
