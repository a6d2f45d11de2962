// Rows of access tokens (`ntk_…`), one statement per function. The callers decide what a token permits.
import { sql } from 'kysely'
import { changeRows, type StatementSteps, selectRow, selectRows } from './catalogue.ts'
import { type OwnerScope, ownerCondition } from './owner-scope.ts'
import { statement } from './statement.ts'
import type { AccessTokenTable } from './tables/users.ts'

const insert = statement<AccessTokenTable>()((db, p) =>
  db.insertInto('access_token').values({
    id: p('id'),
    user_id: p('user_id'),
    workspace_id: p('workspace_id'),
    name: p('name'),
    digest: p('digest'),
    scopes: p('scopes'),
    created_at: p('created_at'),
    expires_at: p('expires_at'),
    last_used_at: p('last_used_at'),
  }),
)

const selectById = statement<{ id: string }>()((db, p) =>
  db.selectFrom('access_token').selectAll().where('id', '=', p('id')),
)

const selectOwned = statement<OwnerScope>()((db, p) =>
  db
    .selectFrom('access_token')
    .selectAll()
    .where(ownerCondition(p))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc'),
)

const countOwned = statement<OwnerScope>()((db, p) =>
  db.selectFrom('access_token').select(sql<number>`count(*)`.as('count')).where(ownerCondition(p)),
)

const removeOwned = statement<OwnerScope & { id: string }>()((db, p) =>
  db.deleteFrom('access_token').where('id', '=', p('id')).where(ownerCondition(p)),
)

const removeExpired = statement<OwnerScope & { now: string }>()((db, p) =>
  db.deleteFrom('access_token').where(ownerCondition(p)).where('expires_at', '<=', p('now')),
)

// A later time stays: uses are written late, and not in their order.
const updateLastUse = statement<{ id: string; at: string }>()((db, p) =>
  db
    .updateTable('access_token')
    .set({ last_used_at: p('at') })
    .where('id', '=', p('id'))
    .where(sql<boolean>`ifnull(last_used_at, '') < ${p('at')}`),
)

export function* insertAccessToken(row: AccessTokenTable): StatementSteps<void> {
  yield* changeRows(insert, row)
}

/** The token with this id, of any owner, for the check of a received token. */
export function findAccessToken(id: string): StatementSteps<AccessTokenTable | undefined> {
  return selectRow(selectById, { id })
}

/** All tokens of the owner, the newest first. */
export function listAccessTokens({ user_id, workspace_id }: OwnerScope): StatementSteps<AccessTokenTable[]> {
  return selectRows(selectOwned, { user_id, workspace_id })
}

export function* countAccessTokens({ user_id, workspace_id }: OwnerScope): StatementSteps<number> {
  return (yield* selectRow(countOwned, { user_id, workspace_id }))?.count ?? 0
}

/**
 * Whether the owner had such a token. Another damaged row does not matter: a damaged token is refused, since each lookup verifies it. So "not found"
 * never leaves a token in use.
 * @throws DATA_DAMAGED if this token is damaged: its row cannot be removed, and may come back with a backup
 */
export function* deleteAccessToken({ user_id, workspace_id }: OwnerScope, id: string): StatementSteps<boolean> {
  if ((yield* changeRows(removeOwned, { user_id, workspace_id, id })) > 0) return true
  yield* findAccessToken(id)
  return false
}

/** Removes the owner's tokens that have expired at `now`. */
export function* deleteExpiredAccessTokens({ user_id, workspace_id }: OwnerScope, now: string): StatementSteps<void> {
  yield* changeRows(removeExpired, { user_id, workspace_id, now })
}

export function* recordAccessTokenUse(id: string, at: string): StatementSteps<void> {
  yield* changeRows(updateLastUse, { id, at })
}
