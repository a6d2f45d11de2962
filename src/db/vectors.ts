// Rows of vectors and of their indexes, one statement per function. Callers compute the distance of vectors.
import { sql } from 'kysely'
import type { OwnerScope } from './owner-scope.ts'
import { statement } from './statement.ts'
import type { Tx } from './store.ts'
import type { VectorEntryTable, VectorIndexTable } from './tables/vectors.ts'

interface OwnerColumns {
  user_id: string
  workspace: string
}

const toOwnerColumns = ({ user_id, workspace_id }: OwnerScope): OwnerColumns => ({
  user_id,
  workspace: workspace_id ?? '',
})

/** SQLite assigns the key. */
const NEXT = sql<number>`null`

const select = statement<OwnerColumns & { name: string }>()((db, p) =>
  db
    .selectFrom('vector_index')
    .selectAll()
    .where('user_id', '=', p('user_id'))
    .where('workspace', '=', p('workspace'))
    .where('name', '=', p('name')),
)

const list = statement<OwnerColumns>()((db, p) =>
  db
    .selectFrom('vector_index')
    .selectAll()
    .where('user_id', '=', p('user_id'))
    .where('workspace', '=', p('workspace'))
    .orderBy('name'),
)

interface ListPosition extends OwnerColumns {
  name: string
}

/** Without a database index for the order: the caller also needs the total count, which reads every row anyway. */
const listAll = statement<ListPosition & { limit: number }>()((db, p) =>
  db
    .selectFrom('vector_index')
    .selectAll()
    .where((eb) =>
      eb(
        eb.refTuple('name', 'user_id', 'workspace'),
        '>',
        sql<never>`(${p('name')}, ${p('user_id')}, ${p('workspace')})`,
      ),
    )
    .orderBy('name')
    .orderBy('user_id')
    .orderBy('workspace')
    .limit(p('limit')),
)

const countAll = statement()((db) => db.selectFrom('vector_index').select((eb) => eb.fn.countAll<number>().as('count')))

const selectUsage = statement<OwnerColumns>()((db, p) =>
  db
    .selectFrom('vector_index')
    .select((eb) => [
      eb.fn.countAll<number>().as('indexes'),
      eb.fn.coalesce(eb.fn.sum<number>('bytes'), eb.lit(0)).as('bytes'),
    ])
    .where('user_id', '=', p('user_id'))
    .where('workspace', '=', p('workspace')),
)

const insert = statement<Omit<VectorIndexTable, 'key'>>()((db, p) =>
  db
    .insertInto('vector_index')
    .values({
      key: NEXT,
      user_id: p('user_id'),
      workspace: p('workspace'),
      name: p('name'),
      dimensions: p('dimensions'),
      model: p('model'),
      count: p('count'),
      bytes: p('bytes'),
      created_at: p('created_at'),
      updated_at: p('updated_at'),
    })
    .returningAll(),
)

const change = statement<{ key: number; model: string | null; count: number; bytes: number; updated_at: string }>()(
  (db, p) =>
    db
      .updateTable('vector_index')
      .set({ model: p('model'), count: p('count'), bytes: p('bytes'), updated_at: p('updated_at') })
      .where('key', '=', p('key')),
)

const dropIndex = statement<{ key: number }>()((db, p) => db.deleteFrom('vector_index').where('key', '=', p('key')))

const sizeOf = statement<{ index_key: number; id: string }>()((db, p) =>
  db.selectFrom('vector_entry').select('bytes').where('index_key', '=', p('index_key')).where('id', '=', p('id')),
)

const upsert = statement<Omit<VectorEntryTable, 'key'>>()((db, p) =>
  db
    .insertInto('vector_entry')
    .values({
      key: NEXT,
      index_key: p('index_key'),
      id: p('id'),
      bytes: p('bytes'),
      metadata: p('metadata'),
      vector: p('vector'),
      text: p('text'),
    })
    .onConflict((conflict) =>
      conflict.columns(['index_key', 'id']).doUpdateSet((eb) => ({
        bytes: eb.ref('excluded.bytes'),
        metadata: eb.ref('excluded.metadata'),
        vector: eb.ref('excluded.vector'),
        text: eb.ref('excluded.text'),
      })),
    ),
)

const scan = statement<{ index_key: number; after: number; limit: number }>()((db, p) =>
  db
    .selectFrom('vector_entry')
    .select(['key', 'bytes', 'metadata', 'vector'])
    .where('index_key', '=', p('index_key'))
    .where('key', '>', p('after'))
    .orderBy('key')
    .limit(p('limit')),
)

const selectEntry = statement<{ index_key: number; key: number }>()((db, p) =>
  db
    .selectFrom('vector_entry')
    .select(['id', 'bytes', 'metadata', 'vector', 'text'])
    .where('index_key', '=', p('index_key'))
    .where('key', '=', p('key')),
)

const removeById = statement<{ index_key: number; id: string }>()((db, p) =>
  db.deleteFrom('vector_entry').where('index_key', '=', p('index_key')).where('id', '=', p('id')).returning('bytes'),
)

const removeByKey = statement<{ index_key: number; key: number }>()((db, p) =>
  db.deleteFrom('vector_entry').where('index_key', '=', p('index_key')).where('key', '=', p('key')).returning('bytes'),
)

const removeSome = statement<{ index_key: number; limit: number }>()((db, p) =>
  db
    .deleteFrom('vector_entry')
    .where('key', 'in', (eb) =>
      eb.selectFrom('vector_entry').select('key').where('index_key', '=', p('index_key')).limit(p('limit')),
    )
    .returning('bytes'),
)

/** The start and length of a page of an index. */
export interface VectorPageRequest {
  readonly index_key: number
  /** The key of the last entry before the page; 0 for the first page. */
  readonly after: number
  readonly limit: number
}

export function findVectorIndex(tx: Tx, owner: OwnerScope, name: string): VectorIndexTable | undefined {
  return tx.get(select, { ...toOwnerColumns(owner), name })
}

/** In order of their names. */
export function listVectorIndexes(tx: Tx, owner: OwnerScope): VectorIndexTable[] {
  return tx.all(list, toOwnerColumns(owner))
}

/** Indexes of all users after one of them, by name and then by owner: at most `limit`. No name is empty. */
export function listAllVectorIndexes(
  tx: Tx,
  after: { name: string; user_id: string; workspace: string } | null,
  limit: number,
): VectorIndexTable[] {
  return tx.all(listAll, { ...(after ?? { name: '', user_id: '', workspace: '' }), limit })
}

/** Of all users. */
export function countVectorIndexes(tx: Tx): number {
  return Number(tx.get(countAll, {})!.count)
}

/** The number of an owner's indexes, and the total bytes of their entries. */
export function measureVectorIndexes(tx: Tx, owner: OwnerScope): { indexes: number; bytes: number } {
  const { indexes, bytes } = tx.get(selectUsage, toOwnerColumns(owner))!
  return { indexes, bytes: Number(bytes) }
}

export function insertVectorIndex(
  tx: Tx,
  owner: OwnerScope,
  row: Pick<VectorIndexTable, 'name' | 'dimensions' | 'model' | 'created_at'>,
): VectorIndexTable {
  const fresh = { ...toOwnerColumns(owner), ...row, count: 0, bytes: 0, updated_at: row.created_at }
  return tx.all(insert, fresh)[0]!
}

export function updateVectorIndex(tx: Tx, { key, model, count, bytes, updated_at }: VectorIndexTable): void {
  tx.run(change, { key, model, count, bytes, updated_at })
}

export function deleteVectorIndex(tx: Tx, key: number): void {
  tx.run(dropIndex, { key })
}

/** The bytes of an entry; undefined: there is no entry with that id. */
export function findVectorEntryBytes(tx: Tx, index_key: number, id: string): number | undefined {
  return tx.get(sizeOf, { index_key, id })?.bytes
}

/** Writes an entry, replacing the entry with its id. */
export function putVectorEntry(tx: Tx, row: Omit<VectorEntryTable, 'key'>): void {
  tx.run(upsert, row)
}

/** About how many bytes of entries are read at once. Each entry is read whole, to be verified, and sizes differ by up to a hundred thousand times. */
const READ_AT_ONCE = 1_000_000

/** Returns fewer than `limit` entries where they are large; none: there are no more. */
export function readVectorPage(
  tx: Tx,
  page: VectorPageRequest,
): Pick<VectorEntryTable, 'key' | 'metadata' | 'vector'>[] {
  let read = 0
  return tx.upTo(scan, page, ({ bytes }) => {
    read += bytes
    return read >= READ_AT_ONCE
  })
}

/** The details of a found entry; undefined: it was removed since. */
export function findVectorEntry(
  tx: Tx,
  index_key: number,
  key: number,
): Pick<VectorEntryTable, 'id' | 'bytes' | 'metadata' | 'vector' | 'text'> | undefined {
  return tx.get(selectEntry, { index_key, key })
}

/** The bytes of the removed entry; empty: there was none. */
export function deleteVectorEntry(tx: Tx, index_key: number, which: { id: string } | { key: number }): number[] {
  const rows =
    'id' in which ? tx.all(removeById, { index_key, ...which }) : tx.all(removeByKey, { index_key, ...which })
  return rows.map(({ bytes }) => bytes)
}

/** The bytes of the removed entries, at most `limit`. */
export function deleteVectorEntries(tx: Tx, index_key: number, limit: number): number[] {
  return tx.all(removeSome, { index_key, limit }).map(({ bytes }) => bytes)
}
