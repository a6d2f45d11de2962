// Tables of users: their tokens, secrets, settings and spending.

/** An access token (`ntk_…`). */
export interface AccessTokenTable {
  id: string
  user_id: string
  workspace_id: string | null
  name: string
  /** SHA-256 of the token's random part. */
  digest: Uint8Array
  /** A JSON list of `read`, `write` and `admin`. */
  scopes: string
  created_at: string
  expires_at: string | null
  last_used_at: string | null
}

/** An access token of the MCP OAuth flow (`nta_…`). */
export interface McpTokenTable {
  id: string
  user_id: string
  workspace_id: string | null
  client_id: string
  /** The only resource of the token: `<public URL>/mcp` at the time of its creation. */
  resource: string
  digest: Uint8Array
  scopes: string
  created_at: string
  expires_at: string
}

/** A secret of a user. `workspace` is '' outside of any. */
export interface UserSecretTable {
  user_id: string
  workspace: string
  name: string
  /** The encrypted value. */
  body: Uint8Array
  updated_at: string
}

/** A setting that a user has changed. `value` is JSON. */
export interface UserSettingTable {
  user_id: string
  workspace: string
  name: string
  value: string
  updated_at: string
}

/**
 * `workspace` is '' outside of any; `currency` is '' if the cost is unknown. Days are `2026-11-22`, in UTC. `own_amount` is the part of `amount` that
 * the user paid with an own key; null for none.
 */
export interface ModelSpendingTable {
  day: string
  user_id: string
  workspace: string
  model: string
  currency: string
  calls: number
  input_tokens: number
  output_tokens: number
  amount: number
  own_amount: number | null
}

export interface UserTables {
  access_token: AccessTokenTable
  mcp_token: McpTokenTable
  user_secret: UserSecretTable
  user_setting: UserSettingTable
  model_spending: ModelSpendingTable
}
