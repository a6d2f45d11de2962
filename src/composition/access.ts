// Who may call: tokens, the identity provider, rate limits and the audit log.
import type { AccessServices } from '../access/access-services.ts'
import { AuditLog } from '../access/audit-log.ts'
import type { TokenVerifiers } from '../access/authentication-rules.ts'
import { createAuthenticator } from '../access/authenticator.ts'
import { CredentialRechecker } from '../access/credential-rechecker.ts'
import { clientKey, RateLimiter } from '../access/rate-limiter.ts'
import { createTokenServices, createTokenVerifiers } from '../access/tokens/token-services.ts'
import type { Foundation } from './foundation.ts'
import type { Storage } from './storage.ts'

export async function composeAccess(foundation: Foundation, { catalogue, vault }: Storage): Promise<AccessServices> {
  const { config, overrides, platform, log, own_requests, stack, publicUrl } = foundation
  const identity = await createIdentityCheck(foundation)
  const audit = stack.use(new AuditLog(log, config))
  const tokens = createTokenServices(config, { catalogue, platform, log, vault, publicUrl })
  stack.use(tokens.access)
  const authenticate = createAuthenticator(config, createTokenVerifiers(config, tokens, identity), { log, platform })
  return {
    own_requests,
    rate_limiter: new RateLimiter(config, platform),
    authenticate,
    rechecker: new CredentialRechecker(authenticate, { log, platform }, overrides.socket_times?.recheck_ms),
    tokens,
    audit,
  }
}

/** Loads the verifier only with an identity provider, because its library costs a start tens of milliseconds. */
async function createIdentityCheck({
  config,
  platform,
  log,
  stopping,
}: Foundation): Promise<TokenVerifiers['identity'] | undefined> {
  const { identity_provider, admin_users } = config
  if (!identity_provider) return
  const { createIdentityVerifier } = await import('../access/identity/identity-verifier.ts')
  const callerOf = (facts: Parameters<typeof clientKey>[0]) => clientKey(facts, config)
  return createIdentityVerifier(identity_provider, { platform, log, stopping, admin_users, callerOf })
}
