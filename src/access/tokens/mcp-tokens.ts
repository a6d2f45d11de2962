// Access tokens of the MCP OAuth flow (`nta_…`): issued for a resource and an hour, revoked, and verified at `/mcp`. The OAuth server runs the flow
// and refreshes tokens.
import type { Catalogue } from '../../db/catalogue.ts'
import { deleteExpiredMcpTokens, deleteMcpToken, findMcpToken, insertMcpToken } from '../../db/mcp-tokens.ts'
import type { OwnerScope } from '../../db/owner-scope.ts'
import type { McpTokenTable } from '../../db/tables/users.ts'
import type { Platform } from '../../platform.ts'
import type { Principal, TokenScope } from '../principal.ts'
import { type HashedToken, HashedTokenStore } from './hashed-tokens.ts'

export interface McpTokenDependencies {
  readonly catalogue: Catalogue
  readonly platform: Platform
  /** The URL at which the server is reached now. */
  readonly publicUrl: () => string
}

export interface McpTokenRequest {
  /** The OAuth client of the token. */
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
/** Each new token removes several expired ones, so that their number does not grow. */
const MAX_SWEPT = 10

export class McpTokenService {
  readonly #dependencies: McpTokenDependencies
  readonly #tokens: HashedTokenStore<CachedMcpToken>

  constructor(parts: McpTokenDependencies) {
    this.#dependencies = parts
    this.#tokens = new HashedTokenStore('nta', 'mcp', async (id) => {
      const row = await parts.catalogue.read(() => findMcpToken(id))
      return row ? toCachedToken(row) : null
    })
  }

  /** Issues a token for an hour that acts as the owner at `/mcp` of this server, at its present URL (RFC 8707). */
  async issue({ user_id, workspace_id }: OwnerScope, { client_id, scopes }: McpTokenRequest): Promise<IssuedMcpToken> {
    const { catalogue, platform } = this.#dependencies
    const { id, token, digest } = this.#tokens.generate(platform)
    const created_at = platform.timestamp()
    const expires_at = new Date(platform.now() + LIFETIME_MS).toISOString()
    const resource = this.resource
    const row = { id, user_id, workspace_id, client_id, resource, digest, scopes: JSON.stringify(scopes) }
    await catalogue.write(function* () {
      yield* deleteExpiredMcpTokens(created_at, MAX_SWEPT)
      yield* insertMcpToken({ ...row, created_at, expires_at })
    })
    return { id, token, expires_at }
  }

  /** The principal of a token at `now` (milliseconds); null if the token is not valid, or was issued for another URL of the server. */
  async verify(token: string, now: number): Promise<Principal | null> {
    return this.#ifForThisServer(await this.#tokens.verify(token, now))?.principal ?? null
  }

  #ifForThisServer(kept: CachedMcpToken | null): CachedMcpToken | null {
    return kept?.resource === this.resource ? kept : null
  }

  /** Whether a token with this id is valid at `now`, and was issued for the present URL of the server. */
  async isValid(id: string, now: number): Promise<boolean> {
    return this.#ifForThisServer(await this.#tokens.findValid(id, now)) !== null
  }

  /** Whether a token that is not valid at `now` was valid before. */
  hasExpired(token: string, now: number): boolean {
    return this.#tokens.hasExpired(token, now)
  }

  /** Revokes a token. The result does not tell whether it existed (RFC 7009, section 2.2). */
  async revoke(id: string): Promise<void> {
    await this.#dependencies.catalogue.write(() => deleteMcpToken(id))
    this.#tokens.invalidate(id)
  }

  /** The resource of tokens (RFC 8707): the URL of `/mcp` as clients reach it. */
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
