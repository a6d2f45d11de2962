// All kinds of tokens put together: what the handlers mint and revoke them with, and what the procedure asks of one that was sent.
import type { Store } from '../db/store.ts'
import type { Log } from '../log.ts'
import type { Platform } from '../platform.ts'
import type { Vault } from '../vault/vault.ts'
import { AccessTokens } from './access-tokens.ts'
import { McpTokens } from './mcp-tokens.ts'
import { LOCAL_USER } from './principal.ts'
import { NO_TOKENS, type TokenChecks } from './procedure.ts'
import { SignedTokens } from './signed-tokens.ts'

export interface Tokens {
  /** `ntk_…` */
  readonly access: AccessTokens
  /** `nta_…` */
  readonly mcp: McpTokens
  /** `nda_…`, and delegated ones. */
  readonly signed: SignedTokens
}

export interface TokenSettings {
  /** Null: Local mode. */
  readonly identity_provider: object | null
  readonly admin_users: readonly string[]
  /** Null: no messaging bridge acts for anybody. */
  readonly integration_token: string | null
}

export interface TokenParts {
  readonly store: Store
  readonly platform: Platform
  readonly log: Log
  readonly vault: Vault
  /** Where the server is reached now. */
  readonly publicUrl: () => string
}

export function createTokens(settings: TokenSettings, parts: TokenParts): Tokens {
  const isAdministrator = (user_id: string) =>
    settings.identity_provider ? settings.admin_users.includes(user_id) : user_id === LOCAL_USER
  return {
    access: new AccessTokens({ ...parts, isAdministrator }),
    mcp: new McpTokens(parts),
    signed: new SignedTokens(parts.vault, parts.platform),
  }
}

/** `identity` judges every other token. */
export function createTokenChecks(
  { integration_token }: TokenSettings,
  { access, mcp, signed }: Tokens,
  identity: TokenChecks['identity'] = NO_TOKENS.identity,
): TokenChecks {
  return {
    accessToken: (token, now) => access.check(token, now),
    mcpToken: (token, now) => mcp.check(token, now),
    appSession: (token, now) => signed.checkAppSession(token, now),
    hasEnded: (token, now) => [access, mcp, signed].some((kind) => kind.hasEnded(token, now)),
    delegatedToken: (token, now) => (integration_token === null ? null : signed.checkDelegated(token, now)),
    identity,
  }
}
