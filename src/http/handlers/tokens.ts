// Operations of the tag `tokens`. access/tokens/access-tokens.ts decides which callers may mint and revoke.
import type { TokensHandlers } from '../../../generated/operations.ts'
import type { RequestContext } from '../pipeline/request-context.ts'

export const tokensHandlers: TokensHandlers<RequestContext> = {
  async listTokens(_request, { app, principal }) {
    return { status: 200, body: await app.access.tokens.access.list(principal) }
  },

  async createToken({ body }, { app, principal, request_id }) {
    const created = await app.access.tokens.access.mint(principal, body)
    const { id, scopes, expires_at } = created
    app.access.audit.recordAction('token_minted', principal, { minted: id, scopes, expires_at, request_id })
    return { status: 201, body: created, headers: { Location: `/api/tokens/${id}` } }
  },

  async deleteToken({ path }, { app, principal, request_id }) {
    await app.access.tokens.access.revoke(principal, path.id)
    app.access.audit.recordAction('token_revoked', principal, { revoked: path.id, request_id })
    return { status: 204 }
  },
}
