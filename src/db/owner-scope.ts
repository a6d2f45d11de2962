// The owner of rows: every read and write of owned rows takes an owner scope.
import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { WORKSPACE } from './index-expressions.ts'

/** The owner of a row: a user, in a workspace or outside of any. Every principal is an owner scope. */
export interface OwnerScope {
  readonly user_id: string
  readonly workspace_id: string | null
}

/** A key for maps: ids of different owners never collide. */
export function ownerScopeKey({ user_id, workspace_id }: OwnerScope, ...ids: string[]): string {
  return JSON.stringify([user_id, workspace_id, ...ids])
}

/**
 * The key of fair shares: users share workers, processor time and memory. A user has one share in all workspaces. For keys of rows see
 * `ownerScopeKey`.
 */
export function userShareKey({ user_id }: OwnerScope): string {
  return `user:${user_id}`
}

/** The same for callers without a user: all callers of one address share. */
export function peerShareKey(peer: string | null): string {
  return `peer:${peer ?? ''}`
}

/** No user has this id: it owns deleted rows until their contents are removed. */
export const DELETED_ROWS_OWNER = ''

/**
 * Whether a row that was read by its key alone belongs to the owner. As a condition in SQL, it would skip a row with a damaged owner, which could
 * then not be verified.
 */
export function isOwnedBy(row: OwnerScope, { user_id, workspace_id }: OwnerScope): boolean {
  return row.user_id === user_id && (row.workspace_id ?? '') === (workspace_id ?? '')
}

/** The row, if it belongs to the owner. */
export function ifOwnedBy<Row extends OwnerScope>(row: Row | undefined, scope: OwnerScope): Row | undefined {
  return row !== undefined && isOwnedBy(row, scope) ? row : undefined
}

/** The SQL condition that a row belongs to the owner in the parameters. The indexes of owned rows begin with its columns. */
export function ownerCondition(p: (name: keyof OwnerScope) => RawBuilder<unknown>): RawBuilder<SqlBool> {
  return sql<SqlBool>`user_id = ${p('user_id')} and ${WORKSPACE} = ifnull(${p('workspace_id')}, '')`
}
