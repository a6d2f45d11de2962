// Rows of assets. One statement per function; whether bytes may go is the service's business, which asks here whether a row needs them.
import { sql } from 'kysely'
import type { AssetTable } from './schema.ts'
import { owned, type Scope } from './scope.ts'
import { statement } from './statement.ts'
import type { Tx } from './store.ts'

const insert = statement<AssetTable>()((db, p) =>
  db
    .insertInto('asset')
    .values({
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
      metadata: p('metadata'),
      workflow_id: p('workflow_id'),
      job_id: p('job_id'),
      node_id: p('node_id'),
      created_at: p('created_at'),
      updated_at: p('updated_at'),
    })
    .onConflict((conflict) => conflict.column('id').doNothing()),
)

const selectOwned = statement<Scope & { storage_key: string }>()((db, p) =>
  db
    .selectFrom('asset')
    .selectAll()
    .where('storage_key', '=', p('storage_key'))
    .where((eb) => owned(eb, { user_id: p('user_id'), workspace_id: p('workspace_id') })),
)

const selectByKey = statement<{ storage_key: string }>()((db, p) =>
  db.selectFrom('asset').selectAll().where('storage_key', '=', p('storage_key')),
)

const selectUse = statement<{ content_key: string }>()((db, p) =>
  db.selectFrom('asset').select(sql`1`.as('one')).where('content_key', '=', p('content_key')).limit(1),
)

const removeOwned = statement<Scope & { storage_key: string }>()((db, p) =>
  db
    .deleteFrom('asset')
    .where('storage_key', '=', p('storage_key'))
    .where((eb) => owned(eb, { user_id: p('user_id'), workspace_id: p('workspace_id') }))
    .returning('content_key'),
)

const removeOfJob = statement<Scope & { job_id: string; limit: number }>()((db, p) =>
  db
    .deleteFrom('asset')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('asset')
        .select('id')
        .where((inner) => owned(inner, { user_id: p('user_id'), workspace_id: p('workspace_id') }))
        .where('job_id', '=', p('job_id'))
        .limit(p('limit')),
    )
    .returning('content_key'),
)

/** Writes a row; one with this id that is there already stays as it is. */
export function insertAsset(tx: Tx, row: AssetTable): void {
  tx.run(insert, row)
}

/** The asset whose bytes are served under this key, if it belongs to the scope. */
export function ownedAsset(tx: Tx, { user_id, workspace_id }: Scope, storage_key: string): AssetTable | undefined {
  return tx.get(selectOwned, { user_id, workspace_id, storage_key })
}

/** The asset whose bytes are served under this key, whoever owns it: for callers that bring a signature. */
export function assetByKey(tx: Tx, storage_key: string): AssetTable | undefined {
  return tx.get(selectByKey, { storage_key })
}

/** Whether any asset has these bytes. */
export function contentInUse(tx: Tx, content_key: string): boolean {
  return tx.get(selectUse, { content_key }) !== undefined
}

/** Removes an asset of the scope, and gives the key of its bytes; undefined where there is none. */
export function deleteAsset(tx: Tx, { user_id, workspace_id }: Scope, storage_key: string): string | undefined {
  return tx.all(removeOwned, { user_id, workspace_id, storage_key })[0]?.content_key ?? undefined
}

/** Removes at most `limit` assets that a job of the scope made, and gives the keys of their bytes, one for each. */
export function deleteAssetsOfJob(tx: Tx, { user_id, workspace_id }: Scope, job_id: string, limit: number): string[] {
  const removed = tx.all(removeOfJob, { user_id, workspace_id, job_id, limit })
  return removed.flatMap(({ content_key }) => (content_key === null ? [] : [content_key]))
}
