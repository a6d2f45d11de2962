// Changes to assets, and to the folders that hold them. One statement per function.
import { sql } from 'kysely'
import type { Removed } from './assets.ts'
import { owned, type Scope } from './scope.ts'
import { statement } from './statement.ts'
import type { Tx } from './store.ts'

export interface ChangedAsset {
  readonly id: string
  readonly name: string
  readonly parent_id: string | null
  readonly metadata: string
  readonly updated_at: string
}

const update = statement<ChangedAsset>()((db, p) =>
  db
    .updateTable('asset')
    .set({ name: p('name'), parent_id: p('parent_id'), metadata: p('metadata'), updated_at: p('updated_at') })
    .where('id', '=', p('id')),
)

/** The folders from one up to the top level. */
const selectAbove = statement<{ id: string; folder_id: string }>()((db, p) =>
  db
    .withRecursive('above(id, parent_id)', (qc) =>
      qc
        .selectFrom('asset')
        .select(['id', 'parent_id'])
        .where('id', '=', p('folder_id'))
        .unionAll(
          qc
            .selectFrom('asset')
            .innerJoin('above', 'above.parent_id', 'asset.id')
            .select(['asset.id', 'asset.parent_id']),
        ),
    )
    .selectFrom('above')
    .select('id')
    .where('id', '=', p('id'))
    .limit(1),
)

/** The asset, and what lies in it, as deep as it goes. */
const removeHeld = statement<Scope & { id: string }>()((db, p) => {
  const scope = { user_id: p('user_id'), workspace_id: p('workspace_id') }
  return db
    .withRecursive('held(key, id)', (qc) =>
      qc
        .selectFrom('asset')
        .select(['key', 'id'])
        .where('id', '=', p('id'))
        .where((eb) => owned(eb, scope))
        .unionAll(
          qc
            .selectFrom('held')
            // In this order, and without the type of the column: otherwise all that the owner has would be read for each folder.
            .crossJoin('asset')
            .where(sql<boolean>`ifnull(asset.parent_id, '') = +held.id`)
            .select(['asset.key', 'asset.id'])
            .where(sql<boolean>`asset.user_id = ${scope.user_id}`)
            .where(sql<boolean>`ifnull(asset.workspace_id, '') = ifnull(${scope.workspace_id}, '')`),
        ),
    )
    .deleteFrom('asset')
    .where('key', 'in', (eb) => eb.selectFrom('held').select('held.key'))
    .returning(['content_key', 'thumb_key'])
})

/** The statements of folders, for tests of how the database follows them. */
export const FOLDER_STATEMENTS = { selectAbove, removeHeld }

/** Writes what may change of an asset. */
export function changeAsset(tx: Tx, changed: ChangedAsset): void {
  tx.run(update, changed)
}

/** Whether a folder is the asset of this id, or lies in it, however deep. */
export function liesWithin(tx: Tx, folder_id: string, id: string): boolean {
  return tx.get(selectAbove, { folder_id, id }) !== undefined
}

/** Removes an asset of the scope with all that lies in it, and says which bytes they had, one entry for each; none where there is no such asset. */
export function deleteAssetWithAll(tx: Tx, { user_id, workspace_id }: Scope, id: string): Removed[] {
  return tx.all(removeHeld, { user_id, workspace_id, id })
}
