// Rows of the access tokens of the MCP OAuth flow (`nta_…`), one statement per function.
import { changeRows, type StatementSteps, selectRow } from './catalogue.ts'
import { statement } from './statement.ts'
import type { McpTokenTable } from './tables/users.ts'

const insert = statement<McpTokenTable>()((db, p) =>
  db.insertInto('mcp_token').values({
    id: p('id'),
    user_id: p('user_id'),
    workspace_id: p('workspace_id'),
    client_id: p('client_id'),
    resource: p('resource'),
    digest: p('digest'),
    scopes: p('scopes'),
    created_at: p('created_at'),
    expires_at: p('expires_at'),
  }),
)

const selectById = statement<{ id: string }>()((db, p) =>
  db.selectFrom('mcp_token').selectAll().where('id', '=', p('id')),
)

const remove = statement<{ id: string }>()((db, p) => db.deleteFrom('mcp_token').where('id', '=', p('id')))

const removeExpired = statement<{ now: string; limit: number }>()((db, p) =>
  db
    .deleteFrom('mcp_token')
    .where('id', 'in', (eb) =>
      eb.selectFrom('mcp_token').select('id').where('expires_at', '<=', p('now')).limit(p('limit')),
    ),
)

export function* insertMcpToken(row: McpTokenTable): StatementSteps<void> {
  yield* changeRows(insert, row)
}

/** The token with this id, of any owner, for the check of a received token. */
export function findMcpToken(id: string): StatementSteps<McpTokenTable | undefined> {
  return selectRow(selectById, { id })
}

/** Whether there was such a token. */
export function* deleteMcpToken(id: string): StatementSteps<boolean> {
  return (yield* changeRows(remove, { id })) > 0
}

/** Removes at most `limit` tokens that have expired at `now`. */
export function* deleteExpiredMcpTokens(now: string, limit: number): StatementSteps<void> {
  yield* changeRows(removeExpired, { now, limit })
}
