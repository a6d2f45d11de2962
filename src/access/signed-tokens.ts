// Tokens that nothing is kept of: claims and their signature. The keys follow from the master key of the vault, so that another
// master key ends all of them. Sessions of app visitors (`nda_…`) and delegated tokens, which have no prefix.
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { Scope } from '../db/scope.ts'
import type { Platform } from '../platform.ts'
import type { Vault } from '../vault/vault.ts'
import type { Principal } from './principal.ts'

type Kind = 'app_session' | 'delegated_token'

interface Claims extends Scope {
  readonly kind: Kind
  readonly app_id: string | null
  /** Seconds since the epoch, as in RFC 7519, section 4.1. */
  readonly iat: number
  readonly exp: number
  readonly jti: string
}

/** A visitor of a deployed app. */
export interface Visitor {
  readonly app_id: string
  /** Given by this service, and without a colon. */
  readonly visitor_id: string
  readonly workspace_id: string | null
}

const LIFETIME_SECONDS = 3_600
const PREFIXES: Readonly<Record<Kind, string>> = { app_session: 'nda_', delegated_token: '' }
const FORM = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})$/

export class SignedTokens {
  readonly #platform: Platform
  readonly #keys: Readonly<Record<Kind, KeyObject>>

  constructor(vault: Vault, platform: Platform) {
    this.#platform = platform
    this.#keys = {
      app_session: createSecretKey(vault.signingKey('app_session')),
      delegated_token: createSecretKey(vault.signingKey('delegated')),
    }
  }

  /** A token for an hour in which a visitor uses one app and nothing else, as a user of its own. */
  appSession({ app_id, visitor_id, workspace_id }: Visitor): string {
    return this.#sign('app_session', { user_id: `app:${app_id}:${visitor_id}`, workspace_id, app_id })
  }

  /** A token for an hour in which a messaging bridge acts as a user who linked it. */
  delegated({ user_id, workspace_id }: Scope): string {
    return this.#sign('delegated_token', { user_id, workspace_id, app_id: null })
  }

  /** Whose session it is at `now` (milliseconds); null where it is not good. */
  checkAppSession(token: string, now: number): Principal | null {
    const claims = this.#verify('app_session', token, now)
    return claims && { ...principalIn(claims), trusted_as: 'app_session', scopes: [], app_id: claims.app_id }
  }

  /** As whom the bridge acts at `now` (milliseconds); null where it is not good. */
  checkDelegated(token: string, now: number): Principal | null {
    const claims = this.#verify('delegated_token', token, now)
    return claims && { ...principalIn(claims), trusted_as: 'delegated_token', scopes: ['read', 'write'], app_id: null }
  }

  /** Whether a token that is not good at `now` was good before. */
  hasEnded(token: string, now: number): boolean {
    const claims = this.#verify('app_session', token, 0) ?? this.#verify('delegated_token', token, 0)
    return claims !== null && now >= claims.exp * 1000
  }

  #sign(kind: Kind, whose: Pick<Claims, 'user_id' | 'workspace_id' | 'app_id'>): string {
    const iat = Math.floor(this.#platform.now() / 1000)
    const claims: Claims = { kind, ...whose, iat, exp: iat + LIFETIME_SECONDS, jti: this.#platform.id('signed') }
    const body = Buffer.from(JSON.stringify(claims)).toString('base64url')
    return `${PREFIXES[kind]}${body}.${this.#mac(kind, body)}`
  }

  #verify(kind: Kind, token: string, now: number): Claims | null {
    const prefix = PREFIXES[kind]
    if (!token.startsWith(prefix)) return null
    const [, body, mac] = FORM.exec(token.slice(prefix.length)) ?? []
    if (body === undefined || mac === undefined) return null
    // The texts are compared: several texts of base64url say the same bytes, and one of them was signed.
    if (!timingSafeEqual(Buffer.from(mac), Buffer.from(this.#mac(kind, body)))) return null
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as Claims
    return claims.kind === kind && now < claims.exp * 1000 ? claims : null
  }

  #mac(kind: Kind, body: string): string {
    return createHmac('sha256', this.#keys[kind]).update(body).digest('base64url')
  }
}

function principalIn({ user_id, workspace_id, jti, exp }: Claims): Omit<Principal, 'trusted_as' | 'scopes' | 'app_id'> {
  return { user_id, workspace_id, token_id: jti, administrator: false, expires_at: exp * 1000 }
}
