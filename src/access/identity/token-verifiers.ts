// Verifies a single token: a JWT by its signature and claims, any other by the user endpoint of the identity provider.
import { errors, type JWTPayload, jwtVerify } from 'jose'
import type { IdentityVerdict } from '../authentication-rules.ts'
import { JwksCache } from './jwks-cache.ts'
import { LookupQuota, ServerKeyWarning } from './lookup-quota.ts'
import {
  type IdentityDependencies,
  OutageLog,
  type ProviderEndpoint,
  ProviderUnavailableError,
  requestProvider,
} from './provider-client.ts'
import { createUserPrincipal } from './user-principal.ts'

/** A verdict and its end, in milliseconds since the epoch. */
export interface TimedIdentityVerdict {
  readonly identified: IdentityVerdict
  readonly ends: number
}

export type JwtVerifier = (token: string) => Promise<TimedIdentityVerdict>

export interface OpaqueTokenVerifier {
  /** Looks up a token within the quota. `caller` is the key of the caller, or null for a caller without a limit of its own. */
  verify(token: string, caller: string | null): Promise<TimedIdentityVerdict>
  /** Looks up a token besides the quota: the recheck has a place in the `RecheckQueue`. */
  recheck(token: string): Promise<TimedIdentityVerdict>
}

/** Only asymmetric algorithms: with HS256, any reader of the public key could sign (RFC 8725, section 2.1). */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const AUDIENCE = 'authenticated'
/** Seconds by which the provider's clock may be ahead. This does not extend tokens. */
const CLOCK_TOLERANCE_SECONDS = 5
/** Milliseconds for which a refusal by the provider's user endpoint is cached. */
const REFUSED_MS = 10_000

const CLAIM_ERRORS: Readonly<Record<string, string>> = {
  aud: 'Invalid audience',
  iss: 'Invalid issuer',
  sub: 'Invalid subject',
  exp: 'Invalid expiry',
  nbf: 'Token not yet valid',
}

function createRejection(reason: string, ends = 0): TimedIdentityVerdict {
  return { identified: { rejected: reason }, ends }
}

const IDENTITY_UNAVAILABLE: TimedIdentityVerdict = { identified: { unavailable: true }, ends: 0 }

/** Whether a token has the form of a JWT: three parts (RFC 7515, section 7.1), of which the signature is empty if the token is unsigned. */
export function isJwtFormat(token: string): boolean {
  return token.split('.').length === 3
}

/** Verifies JWTs (RFC 7519, section 7.2). */
export function createJwtVerifier(provider: ProviderEndpoint, tools: IdentityDependencies): JwtVerifier {
  const keys = new JwksCache(provider, tools)
  const { platform, admin_users } = tools
  const claimsOf = async (token: string): Promise<JWTPayload> => {
    const { payload } = await jwtVerify(token, keys.findKey, {
      algorithms: ALGORITHMS,
      issuer: provider.base,
      audience: AUDIENCE,
      requiredClaims: ['exp', 'sub'],
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      currentDate: new Date(platform.now()),
    })
    return payload
  }
  return async (token) => {
    if (!isCanonical(token)) return createRejection('Invalid token')
    try {
      const claims = await claimsOf(token)
      // Read after the keys have come, and without the tolerance.
      const now = platform.now()
      const ends = claims.exp! * 1000
      if (ends <= now) return createRejection('Token expired')
      if ((claims.iat ?? 0) * 1000 > now + CLOCK_TOLERANCE_SECONDS * 1000) return createRejection('Token not yet valid')
      const principal = createUserPrincipal(claims.sub, claims.app_metadata, ends, admin_users)
      return principal ? { identified: { principal }, ends } : createRejection('Invalid subject')
    } catch (error) {
      if (error instanceof errors.JOSEError) return createRejection(describeJwtError(error))
      // Any other error of the library is about a key.
      if (!(error instanceof ProviderUnavailableError)) keys.reportUnusableKey()
      return IDENTITY_UNAVAILABLE
    }
  }
}

/** Base64url has several encodings of the same bytes, more with padding; only one was issued (RFC 7515, section 2). */
function isCanonical(token: string): boolean {
  return token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part)
}

/** The service's own words: those of the library may change, or reveal too much. */
function describeJwtError(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'Token expired'
  if (error instanceof errors.JWTClaimValidationFailed) return CLAIM_ERRORS[error.claim] ?? 'Invalid token'
  return 'Invalid token'
}

/** Looks up the user of a token without readable claims. */
export function createOpaqueTokenVerifier(
  provider: ProviderEndpoint,
  key: string,
  tools: IdentityDependencies,
): OpaqueTokenVerifier {
  const { platform, admin_users, log } = tools
  const outage = new OutageLog('The users of tokens', log)
  const quota = new LookupQuota()
  const warning = new ServerKeyWarning(log)
  const lookUpUser = async (token: string): Promise<TimedIdentityVerdict> => {
    const { status, body } = await requestProvider(provider, '/user', { apikey: key, Authorization: `Bearer ${token}` })
    // A deleted user gives a 404 in JSON. Any other 404 is not from the API.
    const unknown = status === 401 || status === 403 || (status === 404 && typeof body === 'object' && body !== null)
    if (unknown) {
      warning.recordRefusal()
      return createRejection('Invalid token', platform.now() + REFUSED_MS)
    }
    const { id, app_metadata } = (body ?? {}) as { id?: unknown; app_metadata?: unknown }
    if (status !== 200) throw new ProviderUnavailableError(`status ${status}`)
    if (typeof id !== 'string') throw new ProviderUnavailableError('the response contains no user')
    warning.recordSuccess()
    const principal = createUserPrincipal(id, app_metadata, null, admin_users)
    if (!principal) return createRejection('Invalid subject', platform.now() + REFUSED_MS)
    return { identified: { principal }, ends: Number.POSITIVE_INFINITY }
  }
  const lookUp = async (token: string): Promise<TimedIdentityVerdict> => {
    try {
      const verdict = await lookUpUser(token)
      outage.reportRecovery()
      return verdict
    } catch (error) {
      if (!(error instanceof ProviderUnavailableError)) throw error
      outage.reportFailure(error.message, platform.now())
      return IDENTITY_UNAVAILABLE
    }
  }
  return {
    recheck: lookUp,
    async verify(token, caller) {
      if (!quota.acquire(caller)) return IDENTITY_UNAVAILABLE
      try {
        return await lookUp(token)
      } finally {
        quota.release(caller)
      }
    },
  }
}
