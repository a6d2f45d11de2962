// The services of all kinds of tokens, for the handlers, and their verifiers, for authentication.
import type { Catalogue } from '../../db/catalogue.ts'
import type { Log } from '../../log.ts'
import type { Platform } from '../../platform.ts'
import type { Vault } from '../../vault/vault.ts'
import { NO_TOKEN_VERIFIERS, type TokenVerifiers } from '../authentication-rules.ts'
import { LOCAL_USER } from '../principal.ts'
import { AccessTokenService } from './access-tokens.ts'
import { McpTokenService } from './mcp-tokens.ts'
import { SignedTokenService } from './signed-tokens.ts'

export interface TokenServices {
  /** `ntk_…` */
  readonly access: AccessTokenService
  /** `nta_…` */
  readonly mcp: McpTokenService
  /** `nda_…`, and delegated tokens. */
  readonly signed: SignedTokenService
}

export interface TokenSettings {
  /** Null: Local mode. */
  readonly identity_provider: object | null
  readonly admin_users: readonly string[]
  /** Null: messaging bridges are disabled. */
  readonly integration_token: string | null
}

export interface TokenDependencies {
  readonly catalogue: Catalogue
  readonly platform: Platform
  readonly log: Log
  readonly vault: Vault
  /** The URL at which the server is reached now. */
  readonly publicUrl: () => string
}

export function createTokenServices(settings: TokenSettings, dependencies: TokenDependencies): TokenServices {
  const isAdministrator = (user_id: string) =>
    settings.identity_provider ? settings.admin_users.includes(user_id) : user_id === LOCAL_USER
  return {
    access: new AccessTokenService({ ...dependencies, isAdministrator }),
    mcp: new McpTokenService(dependencies),
    signed: new SignedTokenService(dependencies.vault, dependencies.platform),
  }
}

/** `identity` verifies every other token. */
export function createTokenVerifiers(
  { integration_token }: TokenSettings,
  { access, mcp, signed }: TokenServices,
  identity: TokenVerifiers['identity'] = NO_TOKEN_VERIFIERS.identity,
): TokenVerifiers {
  return {
    accessToken: (token, now) => access.verify(token, now),
    mcpToken: (token, now) => mcp.verify(token, now),
    appSession: (token, now) => signed.verifyAppSession(token, now),
    hasExpired: (token, now) => [access, mcp, signed].some((kind) => kind.hasExpired(token, now)),
    delegatedToken: (token, now) => (integration_token === null ? null : signed.verifyDelegatedToken(token, now)),
    identity,
  }
}
