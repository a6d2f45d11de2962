// Which assets a list shows: their keys, the newest first. Each way of looking walks one index, and looks at no more rows than it is told to.
import { type ExpressionBuilder, type RawBuilder, type SqlBool, sql } from 'kysely'
import { type OwnerScope, ownerCondition } from '../owner-scope.ts'
import type { AssetTable, Tables } from '../schema.ts'
import { statement } from '../statement.ts'
import type { Tx } from '../store.ts'

/** What the assets of a list have in common; null for any. */
export interface AssetFilter {
  /** An id, or '' for the top level. */
  readonly folder: string | null
  /** A content type without parameters, in lower case. */
  readonly essence: string | null
  /** The first half of one. */
  readonly family: string | null
  /** A part of the name, folded. */
  readonly part: string | null
  readonly workflow_id: string | null
  readonly job_id: string | null
}

/** Which rows are looked at: at most `examined` of those with a key below `before` and from `from` on. */
interface KeyRange {
  readonly before: number
  readonly from: number
  readonly examined: number
}

type ListParams = OwnerScope & AssetFilter & KeyRange
type Param = <Name extends keyof (ListParams & { query: string })>(
  name: Name,
) => RawBuilder<(ListParams & { query: string })[Name]>
type Row = ExpressionBuilder<Tables, 'asset'>

// In the words of the indexes, which are used for nothing else.
const FOLDER = sql<string>`ifnull(parent_id, '')`
const ESSENCE = sql<string>`lower(rtrim(substr(content_type, 1, instr(content_type || ';', ';') - 1)))`
const FAMILY = sql<string>`lower(substr(content_type, 1, instr(content_type || '/', '/') - 1))`

/** What each filter says of a row, and so of the index of that filter. */
const CONDITIONS = {
  folder: (p: Param) => sql<SqlBool>`${FOLDER} = ${p('folder')}`,
  essence: (p: Param) => sql<SqlBool>`${ESSENCE} = ${p('essence')}`,
  family: (p: Param) => sql<SqlBool>`${FAMILY} = ${p('family')}`,
  workflow_id: (p: Param) => sql<SqlBool>`workflow_id = ${p('workflow_id')}`,
  job_id: (p: Param) => sql<SqlBool>`job_id = ${p('job_id')}`,
}

/** The filters that have an index. */
export type IndexedAssetFilter = keyof typeof CONDITIONS

/** Whether a row is what all filters ask for: the dearest question comes last. */
function matchesFilters(p: Param): RawBuilder<SqlBool> {
  const each = Object.entries(CONDITIONS) as [IndexedAssetFilter, (p: Param) => RawBuilder<SqlBool>][]
  const conditions = each.map(([name, condition]) => sql`(${p(name)} is null or ${condition(p)})`)
  return sql<SqlBool>`${sql.join(conditions, sql` and `)} and (${p('part')} is null or contains_text(name, ${p('part')}))`
}

/** The rows within reach that `condition` lets an index find, and of these the keys of those that fit; the last row is about all of them. */
function buildListStatement(condition: (eb: Row, p: Param) => RawBuilder<SqlBool>) {
  return statement<ListParams & { query: string }>()((db, p) =>
    db
      .with(
        (cte) => cte('reached').materialized(),
        (qc) =>
          qc
            .selectFrom('asset')
            .select(['key', 'parent_id', 'content_type', 'name', 'workflow_id', 'job_id'])
            .where((eb) => condition(eb, p))
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

const isOwnedInRange = (eb: Row, p: Param) =>
  sql<SqlBool>`${ownerCondition(eb, { user_id: p('user_id'), workspace_id: p('workspace_id') })} and key < ${p('before')} and key >= ${p('from')}`

function listStatementBy(filter: IndexedAssetFilter) {
  return buildListStatement((eb, p) => sql<SqlBool>`${isOwnedInRange(eb, p)} and ${CONDITIONS[filter](p)}`)
}

/** The rows that hold all words of a query, in the order of their keys; some of them hold what is asked for, and all of these are among them. */
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
    .where((eb) => ownerCondition(eb, { user_id: p('user_id'), workspace_id: p('workspace_id') }))
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

/** The statements of lists, for tests of how the database reads them. */
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

/** The rows of these keys, the newest first. How many bytes that may be is left to the caller. */
export function listAssetsByKeys(tx: Tx, keys: readonly number[]): AssetTable[] {
  return tx.all(selectByKeys, { keys: JSON.stringify(keys) }).sort((a, b) => b.key - a.key)
}
