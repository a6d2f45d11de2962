// Changes to assets, and the folders that hold them. One statement per function.
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

/** The statements of folders, for tests of how the database follows them. */
export const FOLDER_STATEMENTS = { selectAbove }

/** Writes what may change of an asset. */
export function changeAsset(tx: Tx, changed: ChangedAsset): void {
  tx.run(update, changed)
}

/** Whether a folder is the asset of this id, or lies in it, however deep. */
export function liesWithin(tx: Tx, folder_id: string, id: string): boolean {
  return tx.get(selectAbove, { folder_id, id }) !== undefined
}
