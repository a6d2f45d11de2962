// Whose rows: every read and write of owned rows goes through a scope.
import { type ExpressionBuilder, type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Tables } from './schema.ts'

/** The owner of a row: a user, within a workspace or outside of any. A principal is one. */
export interface OwnerScope {
  readonly user_id: string
  readonly workspace_id: string | null
}

/** A key for maps: ids of different owners never meet. */
export function ownerScopeKey({ user_id, workspace_id }: OwnerScope, ...ids: string[]): string {
  return JSON.stringify([user_id, workspace_id, ...ids])
}

/**
 * Whose turn it is: users share workers, processor time and memory fairly, and one user in several workspaces is one of them. Rows are told apart by
 * `scopedKey`.
 */
export function userShareKey({ user_id }: OwnerScope): string {
  return `user:${user_id}`
}

/** The same of a caller who is no user: whoever calls from one address is one. */
export function peerShareKey(peer: string | null): string {
  return `peer:${peer ?? ''}`
}

/** No user has this id: it owns rows that were deleted, as long as what they hold is being removed. */
export const DELETED_ROWS_OWNER = ''

/**
 * Whether a row that was read by its key alone belongs to the scope. A condition in SQL would leave out a row whose owner is damaged before it is
 * verified, as if it were another's.
 */
export function isOwnedBy(row: OwnerScope, { user_id, workspace_id }: OwnerScope): boolean {
  return row.user_id === user_id && (row.workspace_id ?? '') === (workspace_id ?? '')
}

/** The row, if it belongs to the scope. */
export function ifOwnedBy<Row extends OwnerScope>(row: Row | undefined, scope: OwnerScope): Row | undefined {
  return row !== undefined && isOwnedBy(row, scope) ? row : undefined
}

type OwnedTable = 'workflow' | 'job' | 'asset' | 'object' | 'access_token' | 'thread'

/** The condition that a row belongs to the scope given as parameters. */
export function ownerCondition<T extends OwnedTable>(
  eb: ExpressionBuilder<Tables, T>,
  p: { user_id: RawBuilder<string>; workspace_id: RawBuilder<string | null> },
): RawBuilder<SqlBool> {
  return sql<SqlBool>`${eb.ref('user_id' as never)} = ${p.user_id} and ifnull(${eb.ref('workspace_id' as never)}, '') = ifnull(${p.workspace_id}, '')`
}
