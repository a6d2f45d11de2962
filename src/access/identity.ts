// Who an identity provider says that somebody is. A token is looked up once at a time, and what was found is believed for a minute.
import { setTimeout } from 'node:timers/promises'
import type { Log } from '../log.ts'
import type { Platform } from '../platform.ts'
import { tokenKey, Verdicts } from './identity-cache.ts'
import type { IdentityTools, ProviderRequests } from './identity-provider.ts'
import { looksSigned, opaqueTokens, signedTokens } from './identity-tokens.ts'
import type { CallerFacts } from './limiter.ts'
import type { Identified, TokenChecks } from './procedure.ts'

export interface IdentityOptions {
  readonly platform: Pick<Platform, 'now'>
  readonly log: Log
  /** Users of the provider who are administrators. */
  readonly admin_users: readonly string[]
  /** What tells a caller from others; null for one that is not bounded by itself. */
  readonly callerOf: (facts: CallerFacts) => string | null
  /** Ends what is under way. */
  readonly stopping?: AbortSignal
  readonly fetch?: typeof fetch
  readonly wait?: IdentityTools['wait']
  /** Milliseconds for which a verdict is believed, if the token does not end before. */
  readonly ttl_ms?: number
  /** Verdicts that are kept. */
  readonly max_entries?: number
  /** Milliseconds that an answer of the provider may take. */
  readonly timeout_ms?: number
}

const TTL_MS = 60_000
const MOST_ENTRIES = 2_000
const TIMEOUT_MS = 5_000

async function wait(ms: number, stopping: AbortSignal | null): Promise<void> {
  // It rejects only where it is stopped, and then nothing more is waited for.
  await setTimeout(ms, undefined, { ...(stopping && { signal: stopping }), ref: false }).catch(() => {})
}

/**
 * Judges tokens by the provider at `url`, which knows this server by `key`. A verdict that is known is given at once, any other as a
 * promise, which waits for an answer of the provider no longer than `timeout_ms`: twice and two seconds where its keys change meanwhile.
 */
export function createIdentity(
  { url, key }: { readonly url: string; readonly key: string },
  options: IdentityOptions,
): TokenChecks['identity'] {
  const { platform, log, callerOf, ttl_ms = TTL_MS, max_entries = MOST_ENTRIES } = options
  const tools: IdentityTools = { platform, log, wait: options.wait ?? wait, admin_users: new Set(options.admin_users) }
  const provider: ProviderRequests = {
    base: `${url}/auth/v1`,
    fetch: options.fetch ?? fetch,
    timeout_ms: options.timeout_ms ?? TIMEOUT_MS,
    stopping: options.stopping ?? null,
  }
  const verdicts = new Verdicts(max_entries)
  const [signed, opaque] = [signedTokens(provider, tools), opaqueTokens(provider, key, tools)]
  const underWay = new Map<string, Promise<Identified>>()

  const lookUp = async (token: string, digest: string, now: number, by: CallerFacts): Promise<Identified> => {
    try {
      const { identified, ends } = await (looksSigned(token) ? signed(token) : opaque(token, callerOf(by)))
      // Counted from the question: the answer may be as old as that.
      const until = Math.min(now + ttl_ms, ends)
      if (until > now) verdicts.set(digest, identified, now, until)
      return identified
    } finally {
      underWay.delete(digest)
    }
  }
  return (token, now, by) => {
    const digest = tokenKey(token)
    const known = verdicts.get(digest, now)
    if (known) return known
    const looking = underWay.get(digest) ?? lookUp(token, digest, now, by)
    underWay.set(digest, looking)
    return looking
  }
}
