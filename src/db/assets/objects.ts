// Rows of objects that callers store under keys of their own, one statement per function.
import { sql } from 'kysely'
import { WORKSPACE } from '../index-expressions.ts'
import { ifOwnedBy, type OwnerScope, ownerCondition } from '../owner-scope.ts'
import { statement } from '../statement.ts'
import type { Tx } from '../store.ts'
import type { ObjectTable } from '../tables/assets.ts'

/** Uses the index `object_by_key`. */
const selectByKey = statement<Pick<OwnerScope, 'workspace_id'> & { storage_key: string }>()((db, p) =>
  db
    .selectFrom('object')
    .selectAll()
    .where('storage_key', '=', p('storage_key'))
    .where(sql<boolean>`${WORKSPACE} = ifnull(${p('workspace_id')}, '')`),
)

const upsert = statement<ObjectTable>()((db, p) =>
  db
    .insertInto('object')
    .values({
      storage_key: p('storage_key'),
      user_id: p('user_id'),
      workspace_id: p('workspace_id'),
      content_key: p('content_key'),
      content_type: p('content_type'),
      size: p('size'),
      sha256: p('sha256'),
      expires_at: p('expires_at'),
      created_at: p('created_at'),
      updated_at: p('updated_at'),
    })
    .onConflict((conflict) =>
      conflict.expression(sql`storage_key, ${WORKSPACE}`).doUpdateSet((eb) => ({
        content_key: eb.ref('excluded.content_key'),
        content_type: eb.ref('excluded.content_type'),
        size: eb.ref('excluded.size'),
        sha256: eb.ref('excluded.sha256'),
        expires_at: eb.ref('excluded.expires_at'),
        created_at: eb.ref('excluded.created_at'),
        updated_at: eb.ref('excluded.updated_at'),
      })),
    ),
)

const removeOwned = statement<OwnerScope & { storage_key: string }>()((db, p) =>
  db.deleteFrom('object').where('storage_key', '=', p('storage_key')).where(ownerCondition(p)),
)

const removeExpired = statement<{ now: string; limit: number }>()((db, p) =>
  db
    .deleteFrom('object')
    .where(
      sql`rowid`,
      'in',
      db
        .selectFrom('object')
        .select(sql`rowid`.as('rowid'))
        .where('expires_at', '<=', p('now'))
        .orderBy('expires_at')
        .limit(p('limit')),
    )
    .returning('content_key'),
)

/** The object under this key, if it belongs to the owner, expired or not. */
export function findOwnedObject(tx: Tx, scope: OwnerScope, storage_key: string): ObjectTable | undefined {
  return ifOwnedBy(tx.get(selectByKey, { workspace_id: scope.workspace_id, storage_key }), scope)
}

/** Writes a row, replacing the row of the same key and workspace. */
export function putObject(tx: Tx, row: ObjectTable): void {
  tx.run(upsert, row)
}

export function deleteObject(tx: Tx, { user_id, workspace_id }: OwnerScope, storage_key: string): void {
  tx.run(removeOwned, { user_id, workspace_id, storage_key })
}

/** Removes at most `limit` objects that have expired at `now`, and returns the content key of each. */
export function deleteExpiredObjects(tx: Tx, now: string, limit: number): string[] {
  return tx.all(removeExpired, { now, limit }).map(({ content_key }) => content_key)
}
