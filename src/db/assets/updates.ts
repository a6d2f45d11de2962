// Changes to assets, and checks of the folders around them, one statement per function.
import { sql } from 'kysely'
import { statement } from '../statement.ts'
import type { Tx } from '../store.ts'

export interface AssetUpdate {
  readonly id: string
  readonly name: string
  readonly parent_id: string | null
  readonly metadata: string
  readonly updated_at: string
}

const update = statement<AssetUpdate>()((db, p) =>
  db
    .updateTable('asset')
    .set({ name: p('name'), parent_id: p('parent_id'), metadata: p('metadata'), updated_at: p('updated_at') })
    .where('id', '=', p('id')),
)

/** Searches the folders from one up to the top level, over at most `levels` levels: the wanted folder, or else the last one if there are more. */
const selectAncestor = statement<{ id: string; folder_id: string; levels: number }>()((db, p) =>
  db
    .withRecursive('above(id, parent_id, level)', (qc) =>
      qc
        .selectFrom('asset')
        .select(['id', 'parent_id', sql<number>`1`.as('level')])
        .where('id', '=', p('folder_id'))
        .unionAll(
          qc
            .selectFrom('asset')
            .innerJoin('above', 'above.parent_id', 'asset.id')
            .select(['asset.id', 'asset.parent_id', sql<number>`above.level + 1`.as('level')])
            .where(sql<boolean>`above.level < ${p('levels')}`),
        ),
    )
    .selectFrom('above')
    .select('id')
    .where(sql<boolean>`(id = ${p('id')} or level = ${p('levels')})`)
    .limit(1),
)

/** The maximum depth of folders into which a folder can be moved: each level takes a microsecond to check. */
export const MAX_FOLDER_DEPTH = 20_000

/** Exported for tests of the query plan. */
export const FOLDER_STATEMENTS = { selectAbove: selectAncestor }

/** Writes the columns of an asset that may change. */
export function updateAsset(tx: Tx, changed: AssetUpdate): void {
  tx.run(update, changed)
}

/** Whether a folder is the asset with this id, or lies in it; null: it lies too deep to tell. */
export function isFolderWithin(tx: Tx, folder_id: string, id: string): boolean | null {
  const found = tx.get(selectAncestor, { folder_id, id, levels: MAX_FOLDER_DEPTH })
  if (found === undefined) return false
  return found.id === id ? true : null
}
