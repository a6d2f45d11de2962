// The keys of the assets in a list, the newest first. Each statement walks one index, and examines a limited number of rows.
import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { ESSENCE, FAMILY, PARENT } from '../index-expressions.ts'
import { type OwnerScope, ownerCondition } from '../owner-scope.ts'
import { statement } from '../statement.ts'
import type { Tx } from '../store.ts'
import type { AssetTable } from '../tables/assets.ts'

/** The common properties of the assets in a list; null for any. */
export interface AssetFilter {
  /** An id, or '' for the top level. */
  readonly folder: string | null
  /** A content type without parameters, in lower case. */
  readonly essence: string | null
  /** The first half of a content type. */
  readonly family: string | null
  /** A part of the name, folded. */
  readonly part: string | null
  readonly workflow_id: string | null
  readonly job_id: string | null
}

/** The examined rows: at most `examined` of those with a key below `before` and from `from` on. */
interface KeyRange {
  readonly before: number
  readonly from: number
  readonly examined: number
}

type ListParams = OwnerScope & AssetFilter & KeyRange
type Param = <Name extends keyof (ListParams & { query: string })>(
  name: Name,
) => RawBuilder<(ListParams & { query: string })[Name]>

/** The condition of each filter, which is also that of its index. */
const CONDITIONS = {
  folder: (p: Param) => sql<SqlBool>`${PARENT} = ${p('folder')}`,
  essence: (p: Param) => sql<SqlBool>`${ESSENCE} = ${p('essence')}`,
  family: (p: Param) => sql<SqlBool>`${FAMILY} = ${p('family')}`,
  workflow_id: (p: Param) => sql<SqlBool>`workflow_id = ${p('workflow_id')}`,
  job_id: (p: Param) => sql<SqlBool>`job_id = ${p('job_id')}`,
}

export type IndexedAssetFilter = keyof typeof CONDITIONS

/** Whether a row matches all filters. The most expensive condition comes last. */
function matchesFilters(p: Param): RawBuilder<SqlBool> {
  const each = Object.entries(CONDITIONS) as [IndexedAssetFilter, (p: Param) => RawBuilder<SqlBool>][]
  const conditions = each.map(([name, condition]) => sql`(${p(name)} is null or ${condition(p)})`)
  return sql<SqlBool>`${sql.join(conditions, sql` and `)} and (${p('part')} is null or contains_text(name, ${p('part')}))`
}

/** The keys of matching rows among the rows in range that an index finds by `condition`. The last row describes all examined rows. */
function buildListStatement(condition: (p: Param) => RawBuilder<SqlBool>) {
  return statement<ListParams & { query: string }>()((db, p) =>
    db
      .with(
        (cte) => cte('reached').materialized(),
        (qc) =>
          qc
            .selectFrom('asset')
            .select(['key', 'parent_id', 'content_type', 'name', 'workflow_id', 'job_id'])
            .where(condition(p))
            .orderBy('key', 'desc')
            .limit(p('examined')),
      )
      .selectFrom('reached')
      .select(['key', 'parent_id', sql<number | null>`null`.as('examined')])
      .where(matchesFilters(p))
      .unionAll(
        db
          .selectFrom(sql<{ key: number }>`reached`.as('all_of_them'))
          .select([
            sql<number>`ifnull(min(key), 0)`.as('key'),
            sql<string | null>`null`.as('parent_id'),
            sql<number | null>`count(*)`.as('examined'),
          ]),
      ),
  )
}

const isOwnedInRange = (p: Param) => sql<SqlBool>`${ownerCondition(p)} and key < ${p('before')} and key >= ${p('from')}`

function listStatementBy(filter: IndexedAssetFilter) {
  return buildListStatement((p) => sql<SqlBool>`${isOwnedInRange(p)} and ${CONDITIONS[filter](p)}`)
}

/** The rows with all words of a query, in the order of their keys. All matching rows are among them, but not every row matches. */
const byName = statement<ListParams & { query: string }>()((db, p) =>
  db
    .with(
      (cte) => cte('reached').materialized(),
      (qc) =>
        qc
          .selectFrom(
            sql<{ key: number }>`(select rowid as key from asset_name where asset_name match ${p('query')}
              and rowid < ${p('before')} and rowid >= ${p('from')} order by rowid desc limit ${p('examined')})`.as(
              'named',
            ),
          )
          .select('key'),
    )
    .selectFrom('asset')
    .select(['asset.key', 'asset.parent_id', sql<number | null>`null`.as('examined')])
    .where(sql<SqlBool>`asset.key in (select key from reached)`)
    .where(ownerCondition(p))
    .where(matchesFilters(p))
    .unionAll(
      db
        .selectFrom(sql<{ key: number }>`reached`.as('all_of_them'))
        .select([
          sql<number>`ifnull(min(key), 0)`.as('key'),
          sql<string | null>`null`.as('parent_id'),
          sql<number | null>`count(*)`.as('examined'),
        ]),
    ),
)

const selectByKeys = statement<{ keys: string }>()((db, p) =>
  db
    .selectFrom('asset')
    .selectAll()
    .where(sql<SqlBool>`key in (select value from json_each(${p('keys')}))`),
)

const selectLast = statement()((db) => db.selectFrom('asset').select((eb) => eb.fn.max('key').as('key')))

/** Exported for tests of the query plans. */
export const ASSET_LIST_STATEMENTS = {
  byOwner: buildListStatement(isOwnedInRange),
  byFolder: listStatementBy('folder'),
  byEssence: listStatementBy('essence'),
  byFamily: listStatementBy('family'),
  byWorkflow: listStatementBy('workflow_id'),
  byJob: listStatementBy('job_id'),
  byName,
  selectByKeys,
  selectLast,
}

/** The rows with these keys, the newest first. The caller limits their bytes. */
export function listAssetsByKeys(tx: Tx, keys: readonly number[]): AssetTable[] {
  return tx.all(selectByKeys, { keys: JSON.stringify(keys) }).sort((a, b) => b.key - a.key)
}
