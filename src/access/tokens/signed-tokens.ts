// Tokens that are not stored: claims with a signature. The keys derive from the vault's master key, so a new master key ends all tokens. These are
// sessions of app visitors (`nda_…`) and delegated tokens, which have no prefix.
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { OwnerScope } from '../../db/owner-scope.ts'
import type { Platform } from '../../platform.ts'
import type { Vault } from '../../vault/vault.ts'
import type { Principal } from '../principal.ts'

type SignedTokenKind = 'app_session' | 'delegated_token'

interface Claims extends OwnerScope {
  readonly kind: SignedTokenKind
  readonly app_id: string | null
  /** Seconds since the epoch, as in RFC 7519, section 4.1. */
  readonly iat: number
  readonly exp: number
  readonly jti: string
}

/** A visitor of a deployed app. */
export interface AppVisitor {
  readonly app_id: string
  /** Assigned by this service, without a colon. */
  readonly visitor_id: string
  readonly workspace_id: string | null
}

const LIFETIME_SECONDS = 3_600
const PREFIXES: Readonly<Record<SignedTokenKind, string>> = { app_session: 'nda_', delegated_token: '' }
const SIGNED_TOKEN_FORMAT = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})$/

export class SignedTokenService {
  readonly #platform: Platform
  readonly #keys: Readonly<Record<SignedTokenKind, KeyObject>>

  constructor(vault: Vault, platform: Platform) {
    this.#platform = platform
    this.#keys = {
      app_session: createSecretKey(vault.signingKey('app_session')),
      delegated_token: createSecretKey(vault.signingKey('delegated')),
    }
  }

  /** Issues a token for an hour, with which a visitor uses a single app, as a user of its own. */
  issueAppSession({ app_id, visitor_id, workspace_id }: AppVisitor): string {
    return this.#sign('app_session', { user_id: `app:${app_id}:${visitor_id}`, workspace_id, app_id })
  }

  /** Issues a token for an hour, with which a messaging bridge acts for a user who linked it. */
  issueDelegatedToken({ user_id, workspace_id }: OwnerScope): string {
    return this.#sign('delegated_token', { user_id, workspace_id, app_id: null })
  }

  /** The principal of a session at `now` (milliseconds); null if the token is not valid. */
  verifyAppSession(token: string, now: number): Principal | null {
    const claims = this.#verify('app_session', token, now)
    return claims && { ...principalFields(claims), trusted_as: 'app_session', scopes: [], app_id: claims.app_id }
  }

  /** The principal for whom the bridge acts at `now` (milliseconds); null if the token is not valid. */
  verifyDelegatedToken(token: string, now: number): Principal | null {
    const claims = this.#verify('delegated_token', token, now)
    return (
      claims && { ...principalFields(claims), trusted_as: 'delegated_token', scopes: ['read', 'write'], app_id: null }
    )
  }

  /** Whether a token that is not valid at `now` was valid before. */
  hasExpired(token: string, now: number): boolean {
    const claims = this.#verify('app_session', token, 0) ?? this.#verify('delegated_token', token, 0)
    return claims !== null && now >= claims.exp * 1000
  }

  #sign(kind: SignedTokenKind, holder: Pick<Claims, 'user_id' | 'workspace_id' | 'app_id'>): string {
    const iat = Math.floor(this.#platform.now() / 1000)
    const claims: Claims = { kind, ...holder, iat, exp: iat + LIFETIME_SECONDS, jti: this.#platform.id('signed') }
    const body = Buffer.from(JSON.stringify(claims)).toString('base64url')
    return `${PREFIXES[kind]}${body}.${this.#mac(kind, body)}`
  }

  #verify(kind: SignedTokenKind, token: string, now: number): Claims | null {
    const prefix = PREFIXES[kind]
    if (!token.startsWith(prefix)) return null
    const [, body, mac] = SIGNED_TOKEN_FORMAT.exec(token.slice(prefix.length)) ?? []
    if (body === undefined || mac === undefined) return null
    // Compares the text of the signature: base64url has several encodings of the same bytes, and only one was signed.
    if (!timingSafeEqual(Buffer.from(mac), Buffer.from(this.#mac(kind, body)))) return null
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as Claims
    return claims.kind === kind && now < claims.exp * 1000 ? claims : null
  }

  #mac(kind: SignedTokenKind, body: string): string {
    return createHmac('sha256', this.#keys[kind]).update(body).digest('base64url')
  }
}

function principalFields({
  user_id,
  workspace_id,
  jti,
  exp,
}: Claims): Omit<Principal, 'trusted_as' | 'scopes' | 'app_id'> {
  return { user_id, workspace_id, token_id: jti, administrator: false, expires_at: exp * 1000 }
}
