// Deletes folders: the row of the folder at once, and its contents in steps, because a folder may hold tens of thousands of assets. Until then
// `deleted_folder` names the folder, and no read returns assets below it.
import { sql } from 'kysely'
import { PARENT, WORKSPACE } from '../index-expressions.ts'
import { type OwnerScope, ownerCondition } from '../owner-scope.ts'
import { readFirstRows, startTimeBudget, type TimeBudget } from '../row-batches.ts'
import { statement } from '../statement.ts'
import type { AssetTable, DeletedFolderTable } from '../tables/assets.ts'
import type { Tx } from '../transaction.ts'

type OwnerColumns = Omit<DeletedFolderTable, 'id'>

const selectAny = statement<OwnerColumns>()((db, p) =>
  db
    .selectFrom('deleted_folder')
    .select(sql`1`.as('one'))
    .where('user_id', '=', p('user_id'))
    .where('workspace', '=', p('workspace'))
    .limit(1),
)

const selectDeleted = statement<DeletedFolderTable>()((db, p) =>
  db
    .selectFrom('deleted_folder')
    .select(sql`1`.as('one'))
    .where('user_id', '=', p('user_id'))
    .where('workspace', '=', p('workspace'))
    .where('id', '=', p('id')),
)

const selectParent = statement<{ id: string }>()((db, p) =>
  db.selectFrom('asset').select('parent_id').where('id', '=', p('id')),
)

/** A folder and its ancestors up to the top level, or up to a deleted folder, whose row is gone; at most `levels` above it. */
const selectAncestors = statement<DeletedFolderTable & { levels: number }>()((db, p) =>
  db
    .withRecursive('way(id, level)', (qc) =>
      qc.selectNoFrom([sql<string>`${p('id')}`.as('id'), sql<number>`0`.as('level')]).unionAll(
        qc
          .selectFrom('asset')
          .innerJoin('way', 'way.id', 'asset.id')
          .select([sql<string>`asset.parent_id`.as('id'), sql<number>`way.level + 1`.as('level')])
          .where('asset.parent_id', 'is not', null)
          .where(sql<boolean>`way.level < ${p('levels')}`),
      ),
    )
    .selectFrom('way')
    .select([
      'way.id',
      sql<number>`exists (select 1 from deleted_folder where user_id = ${p('user_id')} and workspace = ${p('workspace')}
        and id = way.id)`.as('deleted'),
    ]),
)

const selectAllDeleted = statement()((db) => db.selectFrom('deleted_folder').selectAll())

const insertDeleted = statement<DeletedFolderTable>()((db, p) =>
  db.insertInto('deleted_folder').values({ user_id: p('user_id'), workspace: p('workspace'), id: p('id') }),
)

const removeMark = statement<DeletedFolderTable>()((db, p) =>
  db
    .deleteFrom('deleted_folder')
    .where('user_id', '=', p('user_id'))
    .where('workspace', '=', p('workspace'))
    .where('id', '=', p('id')),
)

const removeRow = statement<OwnerScope & { id: string }>()((db, p) =>
  db
    .deleteFrom('asset')
    .where('id', '=', p('id'))
    .where(ownerCondition(p))
    .returning(['id', 'content_type', 'content_key', 'thumb_key']),
)

/** Uses the index `asset_by_folder`. */
const removeChildren = statement<DeletedFolderTable & { limit: number }>()((db, p) =>
  db
    .deleteFrom('asset')
    .where('key', 'in', (eb) =>
      eb
        .selectFrom('asset')
        .select('key')
        .where(sql<boolean>`user_id = ${p('user_id')} and ${WORKSPACE} = ${p('workspace')}
          and ${PARENT} = ${p('id')}`)
        .limit(p('limit') as never),
    )
    .returning(['id', 'content_type', 'content_key', 'thumb_key']),
)

/** Exported for tests of the query plans. */
export const DELETED_FOLDER_STATEMENTS = {
  selectAny,
  selectDeleted,
  selectParent,
  selectWay: selectAncestors,
  removeHeld: removeChildren,
}

const FOLDER = 'folder'
/** Rows that one statement removes: each takes about 40 µs, most of it for the search by name. */
const CHUNK = 16
/** Milliseconds in which a request that deletes a folder also removes contents: most folders are small. */
const AT_ONCE_MS = 5

/** The number of levels that are read one by one, most of which are cached; further levels are read at once. */
const NEAR = 64
/** The maximum number of levels beyond: each takes some microseconds. */
const FAR = 10_000
/** After reading this many levels that are not cached, a lookup of many folders should let other work run. */
const TIRING = 2_000

/** Tells whether folders of one owner lie below a deleted folder. It is valid within one unit of work, and as long as nothing is written. */
export class DeletedFolderLookup {
  readonly #tx: Tx
  readonly #owner: OwnerColumns
  readonly #known = new Map<string, boolean>()
  #hasAny: boolean | null = null
  #levelsRead = 0

  constructor(tx: Tx, scope: OwnerScope) {
    this.#tx = tx
    this.#owner = toOwnerColumns(scope)
  }

  /** Whether so many levels were read that the rest should be left to another unit of work. */
  get isOverBudget(): boolean {
    return this.#levelsRead > TIRING
  }

  /**
   * Whether the contents of the folder `parent_id` (null: the top level) were deleted with it, or with an ancestor. Folders that lie deeper than the
   * lookup reads count as deleted while anything of their owner is being removed.
   */
  isDeleted(parent_id: string | null): boolean {
    if (parent_id === null) return false
    this.#hasAny ??= this.#tx.get(selectAny, this.#owner) !== undefined
    if (!this.#hasAny) return false
    const way: string[] = []
    let found: boolean | undefined
    for (let id: string | null = parent_id; found === undefined; ) {
      found = this.#known.get(id) ?? (this.#isMarkedDeleted(id) || undefined)
      way.push(id)
      if (found === undefined && way.length === NEAR) found = this.#isAncestorDeleted(id, way)
      const above: string | null = this.#tx.get(selectParent, { id })?.parent_id ?? null
      if (above === null) found ??= false
      else id = above
    }
    this.#levelsRead += way.length
    for (const id of way) this.#known.set(id, found)
    return found
  }

  /** The same for all ancestors of a folder, in one statement: trees may be very deep. */
  #isAncestorDeleted(id: string, way: string[]): boolean {
    const far = this.#tx.all(selectAncestors, { ...this.#owner, id, levels: FAR })
    for (const one of far) way.push(one.id)
    // There are more levels than were read.
    return far.length > FAR || far.some(({ deleted }) => deleted === 1)
  }

  #isMarkedDeleted(id: string): boolean {
    return this.#tx.get(selectDeleted, { ...this.#owner, id }) !== undefined
  }
}

/** The lookup of the last owner, by the statements that it used. */
const lastLookups = new WeakMap<
  Tx,
  { readonly state: number; readonly owner: OwnerColumns; readonly folders: DeletedFolderLookup }
>()

/**
 * A lookup stays valid until something is written. A value may refer to thousands of assets, each looked up by itself, and all of them may lie very
 * deep.
 */
function lookupFor(tx: Tx, scope: OwnerScope): DeletedFolderLookup {
  const { write_version } = tx
  if (write_version === null) return new DeletedFolderLookup(tx, scope)
  const owner = toOwnerColumns(scope)
  const last = lastLookups.get(tx)
  const isSame = last?.owner.user_id === owner.user_id && last.owner.workspace === owner.workspace
  if (isSame && last.state === write_version) return last.folders
  const folders = new DeletedFolderLookup(tx, scope)
  lastLookups.set(tx, { state: write_version, owner, folders })
  return folders
}

/** The row, unless it was deleted with a folder. */
export function ifNotDeleted<Row extends Pick<AssetTable, 'user_id' | 'workspace_id' | 'parent_id'>>(
  tx: Tx,
  row: Row | undefined,
): Row | undefined {
  if (row === undefined || row.parent_id === null) return row
  return lookupFor(tx, row).isDeleted(row.parent_id) ? undefined : row
}

/** The keys of the blobs of a removed row. */
export interface RemovedBlobs {
  readonly content_key: string | null
  readonly thumb_key: string | null
}

/** The keys of all blobs of removed rows. */
export function listBlobKeys(removed: readonly RemovedBlobs[]): string[] {
  return removed.flatMap(({ content_key, thumb_key }) => [content_key, thumb_key]).filter((key) => key !== null)
}

/** The removed blobs, and whether nothing is left to be removed. */
export interface AssetRemovalResult {
  readonly removed: RemovedBlobs[]
  readonly done: boolean
}

/**
 * Deletes an asset of the owner, with all contents of a folder. If time runs out, `purgeDeletedFolders` removes the rest, which reads no longer
 * return.
 */
export function deleteAssetTree(tx: Tx, scope: OwnerScope, id: string): AssetRemovalResult {
  const more = startTimeBudget(AT_ONCE_MS)
  const { user_id, workspace_id } = scope
  const [row] = tx.all(removeRow, { user_id, workspace_id, id })
  if (row === undefined) return { removed: [], done: true }
  if (row.content_type !== FOLDER) return { removed: [row], done: true }
  tx.run(insertDeleted, { ...toOwnerColumns(scope), id })
  return purgeDeletedFolders(tx, more)
}

/** Removes contents of deleted folders: at least some, and as much as time permits. */
export function purgeDeletedFolders(tx: Tx, more: TimeBudget): AssetRemovalResult {
  const removed: RemovedBlobs[] = []
  for (let folder = findFirstDeletedFolder(tx); folder; folder = findFirstDeletedFolder(tx)) {
    const rows = tx.all(removeChildren, { ...folder, limit: CHUNK })
    removed.push(...rows)
    const { user_id, workspace } = folder
    for (const { id, content_type } of rows)
      if (content_type === FOLDER) tx.run(insertDeleted, { user_id, workspace, id })
    if (rows.length < CHUNK) tx.run(removeMark, folder)
    if (!more()) return { removed, done: findFirstDeletedFolder(tx) === undefined }
  }
  return { removed, done: true }
}

/** A damaged row stays, and does not block the rows behind it. */
function findFirstDeletedFolder(tx: Tx): DeletedFolderTable | undefined {
  return readFirstRows(tx, { table: 'deleted_folder', statement: selectAllDeleted, params: {} }, 1).at(0)
}

function toOwnerColumns({ user_id, workspace_id }: OwnerScope): OwnerColumns {
  return { user_id, workspace: workspace_id ?? '' }
}
