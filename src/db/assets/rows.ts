// Rows of assets, one statement per function. The asset service decides which bytes to remove, and asks here whether a row needs them.
import { sql } from 'kysely'
import { ifOwnedBy, type OwnerScope, ownerCondition } from '../owner-scope.ts'
import { statement } from '../statement.ts'
import type { Tx } from '../store.ts'
import type { AssetTable } from '../tables/assets.ts'
import { ifNotDeleted, type RemovedBlobs } from './deleted-folders.ts'

export type NewAsset = Omit<AssetTable, 'key'>

const insert = statement<NewAsset>()((db, p) =>
  db
    .insertInto('asset')
    .values({
      key: sql<number>`null`,
      id: p('id'),
      user_id: p('user_id'),
      workspace_id: p('workspace_id'),
      parent_id: p('parent_id'),
      name: p('name'),
      content_type: p('content_type'),
      size: p('size'),
      sha256: p('sha256'),
      storage_key: p('storage_key'),
      content_key: p('content_key'),
      thumb_key: p('thumb_key'),
      metadata: p('metadata'),
      previewed: p('previewed'),
      workflow_id: p('workflow_id'),
      job_id: p('job_id'),
      node_id: p('node_id'),
      created_at: p('created_at'),
      updated_at: p('updated_at'),
    })
    .onConflict((conflict) => conflict.column('id').doNothing()),
)

const selectByKey = statement<{ storage_key: string }>()((db, p) =>
  db.selectFrom('asset').selectAll().where('storage_key', '=', p('storage_key')),
)

const selectById = statement<{ id: string }>()((db, p) => db.selectFrom('asset').selectAll().where('id', '=', p('id')))

const selectBlobUse = statement<{ content_key: string }>()((db, p) =>
  db
    .selectFrom('asset')
    .select(sql`1`.as('one'))
    .where('content_key', '=', p('content_key'))
    .unionAll(db.selectFrom('asset').select(sql`1`.as('one')).where('thumb_key', '=', p('content_key')))
    .unionAll(db.selectFrom('object').select(sql`1`.as('one')).where('content_key', '=', p('content_key')))
    .limit(1),
)

const removeOwned = statement<OwnerScope & { storage_key: string }>()((db, p) =>
  db
    .deleteFrom('asset')
    .where('storage_key', '=', p('storage_key'))
    .where(ownerCondition(p))
    .returning(['content_key', 'thumb_key']),
)

const removeById = statement<{ id: string }>()((db, p) => db.deleteFrom('asset').where('id', '=', p('id')))

const removeOfJob = statement<OwnerScope & { job_id: string; limit: number }>()((db, p) =>
  db
    .deleteFrom('asset')
    .where('id', 'in', (eb) =>
      eb.selectFrom('asset').select('id').where(ownerCondition(p)).where('job_id', '=', p('job_id')).limit(p('limit')),
    )
    .returning(['content_key', 'thumb_key']),
)

/** Inserts a row. An existing row with this id stays, unless it was deleted with a folder. */
export function insertAsset(tx: Tx, row: NewAsset): void {
  if (tx.run(insert, row) > 0 || findAsset(tx, row.id) !== undefined) return
  tx.run(removeById, { id: row.id })
  tx.run(insert, row)
}

/** The asset whose bytes are served under this key, if it belongs to the owner. */
export function findOwnedAssetByStorageKey(tx: Tx, scope: OwnerScope, storage_key: string): AssetTable | undefined {
  return ifNotDeleted(tx, ifOwnedBy(tx.get(selectByKey, { storage_key }), scope))
}

/** The asset with this id, if it belongs to the owner. */
export function findOwnedAsset(tx: Tx, scope: OwnerScope, id: string): AssetTable | undefined {
  return ifNotDeleted(tx, ifOwnedBy(tx.get(selectById, { id }), scope))
}

/** The asset whose bytes are served under this key, of any owner, for callers with a signature. */
export function findAssetByStorageKey(tx: Tx, storage_key: string): AssetTable | undefined {
  return ifNotDeleted(tx, tx.get(selectByKey, { storage_key }))
}

/** The asset with this id, of any owner, for callers with a signature. */
export function findAsset(tx: Tx, id: string): AssetTable | undefined {
  return ifNotDeleted(tx, tx.get(selectById, { id }))
}

/** Whether these bytes are the content or thumbnail of any asset, or the content of any object. */
export function isBlobInUse(tx: Tx, content_key: string): boolean {
  return tx.get(selectBlobUse, { content_key }) !== undefined
}

/** Removes an asset of the owner, and returns the keys of its blobs; undefined: there is none. */
export function deleteAsset(
  tx: Tx,
  { user_id, workspace_id }: OwnerScope,
  storage_key: string,
): RemovedBlobs | undefined {
  if (findOwnedAssetByStorageKey(tx, { user_id, workspace_id }, storage_key) === undefined) return undefined
  return tx.all(removeOwned, { user_id, workspace_id, storage_key })[0]
}

/** Removes at most `limit` assets that a job of the owner created, and returns the blob keys of each. */
export function deleteAssetsOfJob(
  tx: Tx,
  { user_id, workspace_id }: OwnerScope,
  job_id: string,
  limit: number,
): RemovedBlobs[] {
  return tx.all(removeOfJob, { user_id, workspace_id, job_id, limit })
}
