// Shared by the tests of identity providers: a provider, a clock that waits advance, and the log.

import type { IdentityVerdict } from '../../src/access/authentication-rules.ts'
import { createIdentityVerifier, type IdentityVerifierOptions } from '../../src/access/identity/identity-verifier.ts'
import { type CallerFacts, clientKey } from '../../src/access/rate-limiter.ts'
import { createLog } from '../../src/log.ts'
import { type IdentityProvider, startIdentityProvider, type TokenClaims } from '../helpers/identity-provider.ts'
import { FACTS } from './kit.ts'

export interface Scene extends AsyncDisposable {
  readonly idp: IdentityProvider
  /** Milliseconds since the epoch, set by the test. */
  readonly clock: { now: number }
  readonly lines: string[]
  /** The cached verdict, or null if a lookup is needed, which continues. */
  known(token: string): IdentityVerdict | null
  ask(token: string): Promise<IdentityVerdict>
  /** As `ask`, for a caller at a non-loopback address. */
  askFrom(peer: string, token: string): Promise<IdentityVerdict>
  /** As `askFrom`, for a socket or request that is open. */
  recheckFrom(peer: string, token: string): Promise<IdentityVerdict>
  /** A token issued now by the test's clock. */
  token(claims: TokenClaims): Promise<string>
}

export async function scene(options: Partial<IdentityVerifierOptions> = {}, alg?: string): Promise<Scene> {
  const idp = await startIdentityProvider(alg)
  const lines: string[] = []
  const log = createLog('trace', undefined, { write: (line) => void lines.push(line) })
  const clock = { now: 1_800_000_000_000 }
  const platform = { now: () => clock.now }
  const wait = async (ms: number) => {
    clock.now += ms
  }
  const callerOf = (facts: CallerFacts) => clientKey(facts, { trusted_proxies: [], rate_limit_trust_proxy: false })
  // A test that stops the server checks the wait itself.
  const tools = { platform, log, callerOf, admin_users: ['root'], ...(options.stopping ? {} : { wait }) }
  const identity = createIdentityVerifier({ url: idp.url, key: idp.key }, { ...tools, ...options })
  return {
    idp,
    clock,
    lines,
    known(token) {
      const given = identity(token, clock.now, FACTS)
      return given instanceof Promise ? null : given
    },
    ask: async (token) => identity(token, clock.now, FACTS),
    askFrom: async (peer, token) => identity(token, clock.now, { ...FACTS, peer }),
    recheckFrom: async (peer, token) => identity(token, clock.now, { ...FACTS, peer, is_recheck: true }),
    token: (claims) => idp.token({ now: clock.now, ...claims }),
    [Symbol.asyncDispose]: () => idp[Symbol.asyncDispose](),
  }
}

/** The user, the reason, or that the provider is unavailable. */
export function told(identified: IdentityVerdict): string {
  if ('principal' in identified) return `user ${identified.principal.user_id}`
  return 'rejected' in identified ? identified.rejected : 'unavailable'
}
