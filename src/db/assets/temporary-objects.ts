// The temporary objects of a user in all workspaces: a range of keys, read page by page because there may be a million.
import { sql } from 'kysely'
import { WORKSPACE } from '../index-expressions.ts'
import { statement } from '../statement.ts'
import type { Tx } from '../store.ts'
import type { ObjectTable } from '../tables/assets.ts'

export type TemporaryObjectRow = Pick<ObjectTable, 'storage_key' | 'workspace_id' | 'size' | 'expires_at'>

type ObjectPosition = Pick<TemporaryObjectRow, 'storage_key' | 'workspace_id'>

/** Uses the index `object_by_key`. */
const select = statement<{ key: string; workspace: string; to: string; limit: number }>()((db, p) =>
  db
    .selectFrom('object')
    .select(['storage_key', 'workspace_id', 'size', 'expires_at'])
    .where(sql<boolean>`(storage_key, ${WORKSPACE}) > (${p('key')}, ${p('workspace')})`)
    .where('storage_key', '<', p('to'))
    .orderBy('storage_key')
    .orderBy(WORKSPACE)
    .limit(p('limit')),
)

/** At most `limit` objects below `folder`, which ends with a slash, expired or not: the first ones, or those behind `after`. */
export function listTemporaryObjectRows(
  tx: Tx,
  folder: string,
  after: ObjectPosition | null,
  limit: number,
): TemporaryObjectRow[] {
  const to = `${folder.slice(0, -1)}0`
  return tx.all(select, { key: after?.storage_key ?? folder, workspace: after?.workspace_id ?? '', to, limit })
}
