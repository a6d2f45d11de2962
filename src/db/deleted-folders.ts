// How folders are deleted: the row of the folder at once, and what lies below it little by little, because a folder may hold tens of thousands of
// assets. Until then `deleted_folder` names it, and no read shows what lies below such a folder.
import { sql } from 'kysely'
import { firstRows, type More, within } from './batches.ts'
import type { AssetTable, DeletedFolderTable } from './schema.ts'
import { owned, type Scope } from './scope.ts'
import { statement } from './statement.ts'
import type { Tx } from './tx.ts'

type Owner = Omit<DeletedFolderTable, 'id'>

const selectAny = statement<Owner>()((db, p) =>
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

/** A folder, and all that it lies in up to the top level, or to one that was deleted, whose row is gone; of those above it at most `levels`. */
const selectWay = statement<DeletedFolderTable & { levels: number }>()((db, p) =>
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

const forgetDeleted = statement<DeletedFolderTable>()((db, p) =>
  db
    .deleteFrom('deleted_folder')
    .where('user_id', '=', p('user_id'))
    .where('workspace', '=', p('workspace'))
    .where('id', '=', p('id')),
)

const removeRow = statement<Scope & { id: string }>()((db, p) =>
  db
    .deleteFrom('asset')
    .where('id', '=', p('id'))
    .where((eb) => owned(eb, { user_id: p('user_id'), workspace_id: p('workspace_id') }))
    .returning(['id', 'content_type', 'content_key', 'thumb_key']),
)

/** The words are those of the index `asset_by_folder`. */
const removeHeld = statement<DeletedFolderTable & { limit: number }>()((db, p) =>
  db
    .deleteFrom('asset')
    .where('key', 'in', (eb) =>
      eb
        .selectFrom('asset')
        .select('key')
        .where(sql<boolean>`user_id = ${p('user_id')} and ifnull(workspace_id, '') = ${p('workspace')}
          and ifnull(parent_id, '') = ${p('id')}`)
        .limit(p('limit') as never),
    )
    .returning(['id', 'content_type', 'content_key', 'thumb_key']),
)

/** The statements that find rows, for tests of how the database reads them. */
export const DELETED_FOLDER_STATEMENTS = { selectAny, selectDeleted, selectParent, selectWay, removeHeld }

const FOLDER = 'folder'
/** Rows that one statement removes: each takes about 40 µs, most of it for the search by name. */
const CHUNK = 16
/** A request that deletes a folder removes what it can within so many milliseconds: most folders are small. */
const AT_ONCE_MS = 5

/** So many levels are looked at one by one, most of which are known already; those above them at once. */
const NEAR = 64
/** At most so many above them: each takes some microseconds. */
const FAR = 10_000
/** After so many levels, known ones apart, whoever looks at many places lets others have their turn. */
const TIRING = 2_000

/** Tells of places in the tree of one owner whether they lie below a folder that was deleted. It is valid within one unit of work, and as long as nothing is written. */
export class DeletedFolders {
  readonly #tx: Tx
  readonly #owner: Owner
  readonly #known = new Map<string, boolean>()
  #any: boolean | null = null
  #looked = 0

  constructor(tx: Tx, scope: Scope) {
    this.#tx = tx
    this.#owner = ownerOf(scope)
  }

  /** Whether so many levels were looked at that the rest should be left to another unit of work. */
  get tired(): boolean {
    return this.#looked > TIRING
  }

  /**
   * Whether what lies in the folder `parent_id` (null: at the top level) was deleted with it, or with one above it. Of what lies deeper than anybody's
   * folders do nobody looks so far: as long as anything of its owner is being removed, it counts as deleted.
   */
  holds(parent_id: string | null): boolean {
    if (parent_id === null) return false
    this.#any ??= this.#tx.get(selectAny, this.#owner) !== undefined
    if (!this.#any) return false
    const way: string[] = []
    let found: boolean | undefined
    for (let id: string | null = parent_id; found === undefined; ) {
      found = this.#known.get(id) ?? (this.#isDeleted(id) || undefined)
      way.push(id)
      if (found === undefined && way.length === NEAR) found = this.#isFarDeleted(id, way)
      const above: string | null = this.#tx.get(selectParent, { id })?.parent_id ?? null
      if (above === null) found ??= false
      else id = above
    }
    this.#looked += way.length
    for (const id of way) this.#known.set(id, found)
    return found
  }

  /** The same of all that a folder lies in, in one statement: trees may be very deep. */
  #isFarDeleted(id: string, way: string[]): boolean {
    const far = this.#tx.all(selectWay, { ...this.#owner, id, levels: FAR })
    for (const one of far) way.push(one.id)
    // There are more than it looked at.
    return far.length > FAR || far.some(({ deleted }) => deleted === 1)
  }

  #isDeleted(id: string): boolean {
    return this.#tx.get(selectDeleted, { ...this.#owner, id }) !== undefined
  }
}

/** What is known of the owner who was asked about last, by the statements that found it. */
const known = new WeakMap<Tx, { readonly state: number; readonly owner: Owner; readonly folders: DeletedFolders }>()

/** What is known stays until something is written: of a value that refers to thousands of assets each is looked up by itself, and all of them may lie very deep. */
function foldersOf(tx: Tx, scope: Scope): DeletedFolders {
  const { state } = tx
  if (state === null) return new DeletedFolders(tx, scope)
  const owner = ownerOf(scope)
  const last = known.get(tx)
  const isSame = last?.owner.user_id === owner.user_id && last.owner.workspace === owner.workspace
  if (isSame && last.state === state) return last.folders
  const folders = new DeletedFolders(tx, scope)
  known.set(tx, { state, owner, folders })
  return folders
}

/** A row, unless it was deleted with a folder. */
export function shown<Row extends Pick<AssetTable, 'user_id' | 'workspace_id' | 'parent_id'>>(
  tx: Tx,
  row: Row | undefined,
): Row | undefined {
  if (row === undefined || row.parent_id === null) return row
  return foldersOf(tx, row).holds(row.parent_id) ? undefined : row
}

/** What a row that was removed named: keys of contents. */
export interface Removed {
  readonly content_key: string | null
  readonly thumb_key: string | null
}

/** The keys of all bytes that removed rows named. */
export function keysOf(removed: readonly Removed[]): string[] {
  return removed.flatMap(({ content_key, thumb_key }) => [content_key, thumb_key]).filter((key) => key !== null)
}

/** What was removed, and whether nothing is left to be removed. */
export interface RemovedAssets {
  readonly removed: Removed[]
  readonly done: boolean
}

/** Deletes an asset of the scope, with all that a folder holds. Rows for which there is no time are left to `removeDeleted`, and shown no more. */
export function deleteAssetTree(tx: Tx, scope: Scope, id: string): RemovedAssets {
  const more = within(AT_ONCE_MS)
  const { user_id, workspace_id } = scope
  const [row] = tx.all(removeRow, { user_id, workspace_id, id })
  if (row === undefined) return { removed: [], done: true }
  if (row.content_type !== FOLDER) return { removed: [row], done: true }
  tx.run(insertDeleted, { ...ownerOf(scope), id })
  return removeDeleted(tx, more)
}

/** Removes what lies below deleted folders, at least some of it, and as much as there is time for. */
export function removeDeleted(tx: Tx, more: More): RemovedAssets {
  const removed: Removed[] = []
  for (let folder = firstDeleted(tx); folder; folder = firstDeleted(tx)) {
    const rows = tx.all(removeHeld, { ...folder, limit: CHUNK })
    removed.push(...rows)
    const { user_id, workspace } = folder
    for (const { id, content_type } of rows)
      if (content_type === FOLDER) tx.run(insertDeleted, { user_id, workspace, id })
    if (rows.length < CHUNK) tx.run(forgetDeleted, folder)
    if (!more()) return { removed, done: firstDeleted(tx) === undefined }
  }
  return { removed, done: true }
}

/** A damaged row stays, and does not keep those behind it. */
function firstDeleted(tx: Tx): DeletedFolderTable | undefined {
  return firstRows(tx, { table: 'deleted_folder', statement: selectAllDeleted, params: {} }, 1).at(0)
}

function ownerOf({ user_id, workspace_id }: Scope): Owner {
  return { user_id, workspace: workspace_id ?? '' }
}
