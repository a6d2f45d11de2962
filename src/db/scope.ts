// Whose rows: every read and write of owned rows goes through a scope.
import { type ExpressionBuilder, type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Tables } from './schema.ts'

/** The owner of a row: a user, within a workspace or outside of any. A principal is one. */
export interface Scope {
  readonly user_id: string
  readonly workspace_id: string | null
}

/** A key for maps: ids of different owners never meet. */
export function scopedKey({ user_id, workspace_id }: Scope, ...ids: string[]): string {
  return JSON.stringify([user_id, workspace_id, ...ids])
}

/** No user has this id: it owns rows that were deleted, as long as what they hold is being removed. */
export const NOBODY = ''

type OwnedTable = 'workflow' | 'job' | 'asset' | 'object' | 'access_token' | 'thread'

/** The condition that a row belongs to the scope given as parameters. */
export function owned<T extends OwnedTable>(
  eb: ExpressionBuilder<Tables, T>,
  p: { user_id: RawBuilder<string>; workspace_id: RawBuilder<string | null> },
): RawBuilder<SqlBool> {
  return sql<SqlBool>`${eb.ref('user_id' as never)} = ${p.user_id} and ifnull(${eb.ref('workspace_id' as never)}, '') = ifnull(${p.workspace_id}, '')`
}
