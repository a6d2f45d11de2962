// Access tokens of the MCP OAuth flow (`nta_…`): made for one resource and an hour, revoked, and checked at `/mcp`.
// The flow that hands them out, and refreshes them, is left to the OAuth server.
import { deleteExpiredMcpTokens, deleteMcpToken, findMcpToken, insertMcpToken } from '../../db/mcp-tokens.ts'
import type { OwnerScope } from '../../db/owner-scope.ts'
import type { McpTokenTable } from '../../db/schema.ts'
import type { Store } from '../../db/store.ts'
import type { Platform } from '../../platform.ts'
import type { Principal, TokenScope } from '../principal.ts'
import { type HashedToken, HashedTokenStore } from './hashed-tokens.ts'

export interface McpTokenDependencies {
  readonly store: Store
  readonly platform: Platform
  /** Where the server is reached now. */
  readonly publicUrl: () => string
}

export interface McpTokenRequest {
  /** The OAuth client that it is issued to. */
  readonly client_id: string
  /** Never `admin`: nothing at `/mcp` needs it. */
  readonly scopes: readonly Exclude<TokenScope, 'admin'>[]
}

export interface IssuedMcpToken {
  readonly id: string
  readonly token: string
  readonly expires_at: string
}

interface CachedMcpToken extends HashedToken {
  readonly principal: Principal
  readonly resource: string
}

const LIFETIME_MS = 3_600_000
/** Each new token sweeps away more than one old: they do not grow in number. */
const MAX_SWEPT = 10

export class McpTokenService {
  readonly #dependencies: McpTokenDependencies
  readonly #tokens: HashedTokenStore<CachedMcpToken>

  constructor(parts: McpTokenDependencies) {
    this.#dependencies = parts
    this.#tokens = new HashedTokenStore('nta', 'mcp', (id) => {
      const row = parts.store.read((tx) => findMcpToken(tx, id))
      return row ? toCachedToken(row) : null
    })
  }

  /** Makes a token that acts as the owner at `/mcp` of this server, as it is reached now (RFC 8707), for an hour. */
  async issue({ user_id, workspace_id }: OwnerScope, { client_id, scopes }: McpTokenRequest): Promise<IssuedMcpToken> {
    const { store, platform } = this.#dependencies
    const { id, token, digest } = this.#tokens.generate(platform)
    const created_at = platform.timestamp()
    const expires_at = new Date(platform.now() + LIFETIME_MS).toISOString()
    const resource = this.resource
    const row = { id, user_id, workspace_id, client_id, resource, digest, scopes: JSON.stringify(scopes) }
    await store.write((tx) => {
      deleteExpiredMcpTokens(tx, created_at, MAX_SWEPT)
      insertMcpToken(tx, { ...row, created_at, expires_at })
    })
    return { id, token, expires_at }
  }

  /** Whom a token stands for at `now` (milliseconds); null where it is not good, or was made for another address of the server. */
  verify(token: string, now: number): Principal | null {
    const kept = this.#tokens.verify(token, now)
    return kept?.resource === this.resource ? kept.principal : null
  }

  /** Whether there is a token with this id that is good at `now`, and made for the present address of the server. */
  isValid(id: string, now: number): boolean {
    return this.#tokens.findValid(id, now)?.resource === this.resource
  }

  /** Whether a token that `check` did not take at `now` was good before. */
  hasExpired(token: string, now: number): boolean {
    return this.#tokens.hasExpired(token, now)
  }

  /** Ends a token. Whether there was one is not said (RFC 7009, section 2.2). */
  async revoke(id: string): Promise<void> {
    await this.#dependencies.store.write((tx) => deleteMcpToken(tx, id))
    this.#tokens.invalidate(id)
  }

  /** What tokens are made for (RFC 8707): the address of `/mcp` as clients reach it. */
  get resource(): string {
    return `${this.#dependencies.publicUrl()}/mcp`
  }
}

function toCachedToken({ id, user_id, workspace_id, resource, digest, scopes, ...row }: McpTokenTable): CachedMcpToken {
  const expires_at = Date.parse(row.expires_at)
  const principal: Principal = {
    user_id,
    workspace_id,
    trusted_as: 'mcp_token',
    token_id: id,
    scopes: JSON.parse(scopes) as TokenScope[],
    administrator: false,
    app_id: null,
    expires_at,
  }
  return { digest, expires_at, resource, principal }
}
