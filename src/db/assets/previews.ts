// Assets without a preview, and the results of making one. Rows are named by their ids, since keys of removed rows are reused.
import { sql } from 'kysely'
import { UNPREVIEWED } from '../index-expressions.ts'
import { statement } from '../statement.ts'
import type { Tx } from '../store.ts'
import type { AssetTable } from '../tables/assets.ts'

/** An asset with bytes, with the columns that a preview needs. */
export interface UnpreviewedAsset {
  readonly key: number
  readonly id: string
  readonly user_id: string
  readonly workspace_id: string | null
  readonly content_type: string
  readonly content_key: string
  readonly size: number
}

export type StoredPreview = Pick<AssetTable, 'thumb_key' | 'metadata'>

const COLUMNS = ['key', 'id', 'user_id', 'workspace_id', 'content_type', 'content_key', 'size'] as const

const selectUser = statement<{ after: string }>('keys')((db, p) =>
  db
    .selectFrom('asset')
    .select('user_id')
    .where(UNPREVIEWED)
    .where('user_id', '>', p('after'))
    .orderBy('user_id')
    .limit(sql<1>`1`),
)

const selectNext = statement<{ user_id: string; after: number }>('keys')((db, p) =>
  db
    .selectFrom('asset')
    .select(['key', 'id'])
    .where(UNPREVIEWED)
    .where('user_id', '=', p('user_id'))
    .where('key', '>', p('after'))
    .orderBy('key')
    .limit(sql<1>`1`),
)

const selectUnseen = statement<{ user_id: string; from: number; limit: number }>()((db, p) =>
  db
    .selectFrom('asset')
    .select(COLUMNS)
    .$narrowType<{ content_key: string }>()
    .where(UNPREVIEWED)
    .where('user_id', '=', p('user_id'))
    .where('key', '>=', p('from'))
    .orderBy('key')
    .limit(p('limit')),
)

const selectUnseenById = statement<{ id: string }>()((db, p) =>
  db
    .selectFrom('asset')
    .select(COLUMNS)
    .$narrowType<{ content_key: string }>()
    .where('id', '=', p('id'))
    .where(UNPREVIEWED),
)

/**
 * The number of rows with the same content that are searched for a preview. There may be very many without one, and telling needs the metadata of
 * each.
 */
const MAX_TWINS = 8

// A row without known facts is no twin: the reason of its failure may have passed.
const selectTwin = statement<{ content_key: string; content_type: string }>()((db, p) =>
  db
    .selectFrom('asset')
    .select(['thumb_key', 'metadata'])
    .where('key', 'in', (eb) =>
      eb
        .selectFrom('asset')
        .select('key')
        .where('content_key', '=', p('content_key'))
        .orderBy('key')
        .limit(sql.lit(MAX_TWINS)),
    )
    .where('content_type', '=', p('content_type'))
    .where('previewed', '=', sql<1>`1`)
    .where(sql<boolean>`iif(json_valid(metadata), json_type(metadata, '$.found'), null) is not null`)
    .limit(1),
)

const selectMetadata = statement<{ id: string; content_key: string }>()((db, p) =>
  db
    .selectFrom('asset')
    .select('metadata')
    .where('id', '=', p('id'))
    .where('content_key', '=', p('content_key'))
    .where('previewed', '=', sql<0>`0`),
)

const updateSeen = statement<{ id: string } & StoredPreview>()((db, p) =>
  db
    .updateTable('asset')
    .set({ thumb_key: p('thumb_key'), metadata: p('metadata'), previewed: sql`1` })
    .where('id', '=', p('id')),
)

const updatePassed = statement<{ id: string }>()((db, p) =>
  db.updateTable('asset').set({ previewed: sql`1` }).where('id', '=', p('id')),
)

/** The users after `after`, in the order of their ids, who have assets without a preview: at most `limit`, however many assets each has. */
export function listUsersWithUnpreviewed(tx: Tx, after: string, limit: number): string[] {
  const users: string[] = []
  for (let user = after; users.length < limit; users.push(user)) {
    const next = tx.get(selectUser, { after: user })
    if (!next) break
    user = next.user_id
  }
  return users
}

/** The first asset of a user behind a key. The row is read by its id. */
export function findNextUnpreviewed(tx: Tx, user_id: string, after: number): { key: number; id: string } | undefined {
  return tx.get(selectNext, { user_id, after })
}

/** At most `limit` assets of a user from a key on, in the order of the keys. */
export function listUnpreviewedAssets(tx: Tx, user_id: string, from: number, limit: number): UnpreviewedAsset[] {
  return tx.all(selectUnseen, { user_id, from, limit })
}

/** The asset with this id, of any owner, if it has no preview yet. */
export function findUnpreviewedAsset(tx: Tx, id: string): UnpreviewedAsset | undefined {
  return tx.get(selectUnseenById, { id })
}

/** The preview of another asset of the same owner with the same bytes: of one of the oldest, whose previews are made first. */
export function findPreviewOfSameContent(
  tx: Tx,
  { content_key, content_type }: UnpreviewedAsset,
): StoredPreview | undefined {
  return tx.get(selectTwin, { content_key, content_type })
}

/** The metadata of the asset, if it still exists with these bytes and without a preview. */
export function findUnpreviewedMetadata(tx: Tx, { id, content_key }: UnpreviewedAsset): string | undefined {
  return tx.get(selectMetadata, { id, content_key })?.metadata
}

/** Stores the preview of an asset. */
export function savePreview(tx: Tx, id: string, { thumb_key, metadata }: StoredPreview): void {
  tx.run(updateSeen, { id, thumb_key, metadata })
}

/** Marks an asset as previewed although it has no preview. */
export function markPreviewed(tx: Tx, id: string): void {
  tx.run(updatePassed, { id })
}
