// What a single token says: a JWT by its signature and claims, any other by asking the identity provider's user endpoint.
import { errors, type JWTPayload, jwtVerify } from 'jose'
import { ProviderKeys } from './identity-keys.ts'
import { ask, type IdentityTools, Outage, type ProviderRequests, Unavailable } from './identity-provider.ts'
import { KeyWarning, Questions } from './identity-questions.ts'
import { signedInUser } from './identity-user.ts'
import type { Identified } from './procedure.ts'

/** A verdict and when it ends by itself, in milliseconds since the epoch. */
export interface Found {
  readonly identified: Identified
  readonly ends: number
}

export type LookUp = (token: string) => Promise<Found>
/** `caller`: what tells whoever brings the token from others; null for one that is not bounded by itself. */
export type Question = (token: string, caller: string | null) => Promise<Found>

/** Asymmetric ones alone: with HS256 whoever reads the public key could sign (RFC 8725, section 2.1). */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const AUDIENCE = 'authenticated'
/** Seconds by which the provider's clock may be ahead. A token is good no longer for that. */
const AHEAD_SECONDS = 5
/** A refused token that only the provider could judge is not asked about again for so long. */
const REFUSED_MS = 10_000

const REASONS: Readonly<Record<string, string>> = {
  aud: 'Invalid audience',
  iss: 'Invalid issuer',
  sub: 'Invalid subject',
  exp: 'Invalid expiry',
  nbf: 'Token not yet valid',
}

function refused(reason: string, ends = 0): Found {
  return { identified: { rejected: reason }, ends }
}

const UNAVAILABLE: Found = { identified: { unavailable: true }, ends: 0 }

/** Whether it is to be read as a JWT: three parts (RFC 7515, section 7.1), the signature of an unsigned one being empty. */
export function looksSigned(token: string): boolean {
  return token.split('.').length === 3
}

/** Judges JWTs (RFC 7519, section 7.2). */
export function signedTokens(provider: ProviderRequests, tools: IdentityTools): LookUp {
  const keys = new ProviderKeys(provider, tools)
  const { platform, admin_users } = tools
  const claimsOf = async (token: string): Promise<JWTPayload> => {
    const { payload } = await jwtVerify(token, keys.find, {
      algorithms: ALGORITHMS,
      issuer: provider.base,
      audience: AUDIENCE,
      requiredClaims: ['exp', 'sub'],
      clockTolerance: AHEAD_SECONDS,
      currentDate: new Date(platform.now()),
    })
    return payload
  }
  return async (token) => {
    if (!isCanonical(token)) return refused('Invalid token')
    try {
      const claims = await claimsOf(token)
      // Looked at after the keys have come, and without the tolerance.
      const now = platform.now()
      const ends = claims.exp! * 1000
      if (ends <= now) return refused('Token expired')
      if ((claims.iat ?? 0) * 1000 > now + AHEAD_SECONDS * 1000) return refused('Token not yet valid')
      const principal = signedInUser(claims.sub, claims.app_metadata, ends, admin_users)
      return principal ? { identified: { principal }, ends } : refused('Invalid subject')
    } catch (error) {
      if (error instanceof errors.JOSEError) return refused(reasonOf(error))
      // What the library does not say of a token, it says of a key.
      if (!(error instanceof Unavailable)) keys.unusable()
      return UNAVAILABLE
    }
  }
}

/** Base64url has several texts for the same bytes, and with padding still more: only one of them was issued (RFC 7515, section 2). */
function isCanonical(token: string): boolean {
  return token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part)
}

/** In words of our own: those of a library may change, and may say too much. */
function reasonOf(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'Token expired'
  if (error instanceof errors.JWTClaimValidationFailed) return REASONS[error.claim] ?? 'Invalid token'
  return 'Invalid token'
}

/** Asks for the user of a token that says nothing by itself. */
export function opaqueTokens(provider: ProviderRequests, key: string, tools: IdentityTools): Question {
  const { platform, admin_users, log } = tools
  const outage = new Outage('The users of tokens', log)
  const questions = new Questions()
  const warning = new KeyWarning(log)
  const userOf = async (token: string): Promise<Found> => {
    const { status, body } = await ask(provider, '/user', { apikey: key, Authorization: `Bearer ${token}` })
    // A user who was deleted is not found. A page that is not found is somebody else's answer.
    const unknown = status === 401 || status === 403 || (status === 404 && typeof body === 'object' && body !== null)
    if (unknown) {
      warning.refused()
      return refused('Invalid token', platform.now() + REFUSED_MS)
    }
    const { id, app_metadata } = (body ?? {}) as { id?: unknown; app_metadata?: unknown }
    if (status !== 200) throw new Unavailable(`status ${status}`)
    if (typeof id !== 'string') throw new Unavailable('the answer holds no user')
    warning.answered()
    const principal = signedInUser(id, app_metadata, null, admin_users)
    if (!principal) return refused('Invalid subject', platform.now() + REFUSED_MS)
    return { identified: { principal }, ends: Number.POSITIVE_INFINITY }
  }
  return async (token, caller) => {
    if (!questions.begin(caller)) return UNAVAILABLE
    try {
      const found = await userOf(token)
      outage.end()
      return found
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      outage.begin(error.message, platform.now())
      return UNAVAILABLE
    } finally {
      questions.end(caller)
    }
  }
}
