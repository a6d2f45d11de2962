// Access tokens of the MCP OAuth flow (`nta_…`): made for one resource and an hour, revoked, and checked at `/mcp`.
// The flow that hands them out, and refreshes them, is left to the OAuth server.
import { deleteExpiredMcpTokens, deleteMcpToken, insertMcpToken, mcpTokenById } from '../db/mcp-tokens.ts'
import type { McpTokenTable } from '../db/schema.ts'
import type { Scope } from '../db/scope.ts'
import type { Store } from '../db/store.ts'
import type { Platform } from '../platform.ts'
import { type KeptToken, KeptTokens } from './kept-tokens.ts'
import type { Principal, TokenScope } from './principal.ts'

export interface McpTokenParts {
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

interface Kept extends KeptToken {
  readonly principal: Principal
  readonly resource: string
}

const LIFETIME_MS = 3_600_000
/** Each new token sweeps away more than one old: they do not grow in number. */
const SWEPT = 10

export class McpTokens {
  readonly #parts: McpTokenParts
  readonly #kept: KeptTokens<Kept>

  constructor(parts: McpTokenParts) {
    this.#parts = parts
    this.#kept = new KeptTokens('nta', 'mcp', (id) => {
      const row = parts.store.read((tx) => mcpTokenById(tx, id))
      return row ? keptOf(row) : null
    })
  }

  /** Makes a token that acts as the owner at `/mcp` of this server, as it is reached now (RFC 8707), for an hour. */
  async issue({ user_id, workspace_id }: Scope, { client_id, scopes }: McpTokenRequest): Promise<IssuedMcpToken> {
    const { store, platform } = this.#parts
    const { id, token, digest } = this.#kept.make(platform)
    const created_at = platform.timestamp()
    const expires_at = new Date(platform.now() + LIFETIME_MS).toISOString()
    const resource = this.resource
    const row = { id, user_id, workspace_id, client_id, resource, digest, scopes: JSON.stringify(scopes) }
    await store.write((tx) => {
      deleteExpiredMcpTokens(tx, created_at, SWEPT)
      insertMcpToken(tx, { ...row, created_at, expires_at })
    })
    return { id, token, expires_at }
  }

  /** Whom a token stands for at `now` (milliseconds); null where it is not good, or was made for another address of the server. */
  check(token: string, now: number): Principal | null {
    const kept = this.#kept.check(token, now)
    return kept?.resource === this.resource ? kept.principal : null
  }

  /** Whether there is a token with this id that is good at `now`, and made for the present address of the server. */
  isGood(id: string, now: number): boolean {
    return this.#kept.good(id, now)?.resource === this.resource
  }

  /** Whether a token that `check` did not take at `now` was good before. */
  hasEnded(token: string, now: number): boolean {
    return this.#kept.hasEnded(token, now)
  }

  /** Ends a token. Whether there was one is not said (RFC 7009, section 2.2). */
  async revoke(id: string): Promise<void> {
    await this.#parts.store.write((tx) => deleteMcpToken(tx, id))
    this.#kept.forget(id)
  }

  /** What tokens are made for (RFC 8707): the address of `/mcp` as clients reach it. */
  get resource(): string {
    return `${this.#parts.publicUrl()}/mcp`
  }
}

function keptOf({ id, user_id, workspace_id, resource, digest, scopes, ...row }: McpTokenTable): Kept {
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
