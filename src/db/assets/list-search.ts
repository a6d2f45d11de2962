// Finds a page of a list of assets, with all usable indexes side by side, because the best index is not known before.
import type { Steps } from '../../shared/time-slices.ts'
import type { OwnerScope } from '../owner-scope.ts'
import type { Store, Tx } from '../store.ts'
import type { AssetTable } from '../tables/assets.ts'
import { DeletedFolderLookup } from './deleted-folders.ts'
import { ASSET_LIST_STATEMENTS, type AssetFilter, type IndexedAssetFilter, listAssetsByKeys } from './list-queries.ts'
import { nameTrigramQuery } from './name-trigrams.ts'

/** A page of keys, the newest first, and the lowest examined key; 0 at the end of the list. */
export interface AssetKeyPage {
  readonly keys: number[]
  readonly reached: number
}

/** The rows of such a page. */
export interface AssetRowPage {
  readonly rows: readonly AssetTable[]
  readonly reached: number
}

/** From the key `before` downwards, over about `examined` rows. `round` counts from 0. */
interface ScanRequest {
  readonly before: number
  readonly examined: number
  readonly round: number
}

/** Scans one index. */
type IndexScan = (tx: Tx, look: ScanRequest) => ScanResult

interface ScanResult {
  readonly rows: readonly { key: number; parent_id: string | null }[]
  readonly reached: number
}

/** Rows that each scan examines in the first round; each further round doubles them. */
const FIRST_LOOK = 128
/** Rows that each scan examines in one step, at most. */
const MOST_AT_ONCE = 512
/** Rows that all scans together examine for one page. */
const MOST_EXAMINED = 6_000
/** Keys that a search by name spans at first. Most belong to other owners, which costs nothing. */
const FIRST_SPAN = 65_536
const WIDER = 8
/** Characters of a page's metadata in total: each asset may have 64 KiB, which cost far more than their bytes. */
const MOST_METADATA = 256 * 1024
/** Rows that are read at once. */
const READ_AT_ONCE = 16

/**
 * The keys of at most `limit` assets below the key `before`, or from the newest on. A page may be short or empty before the end of the list; the next
 * page then continues from `reached`. The most selective of several filters is unknown, so all scans run side by side, and the scan that gets
 * furthest counts. Each scan runs once per step: names with many combining marks take up to 50 µs a row.
 */
export function* findAssetKeysSteps(
  store: Pick<Store, 'read'>,
  scope: OwnerScope,
  filter: AssetFilter,
  before: number | null,
  limit: number,
): Steps<AssetKeyPage> {
  const ways = createIndexScans(scope, filter)
  const keys: number[] = []
  let examined = ways.length === 1 ? Math.min(Math.max(limit, FIRST_LOOK), MOST_AT_ONCE) : FIRST_LOOK
  let reached = before ?? store.read(keyAboveNewest)
  for (let left = MOST_EXAMINED, round = 0; ; round++) {
    const found = store.read((tx) => furthestScan(tx, scope, ways, { before: reached, examined, round }))
    keys.push(...found.keys)
    reached = found.reached
    if (keys.length > limit) return { keys: keys.slice(0, limit), reached: keys[limit - 1]! }
    left -= examined * ways.length
    if (keys.length === limit || reached === 0 || left <= 0) return { keys, reached }
    examined = Math.min(2 * examined, MOST_AT_ONCE, Math.ceil(left / ways.length))
    yield
  }
}

/**
 * The rows for `findAssetKeysSteps`: fewer where their metadata is long, but at least one. The next page then continues from `reached`. Rows that
 * were deleted meanwhile are omitted.
 */
export function* findAssetRowsSteps(
  store: Pick<Store, 'read'>,
  scope: OwnerScope,
  filter: AssetFilter,
  before: number | null,
  limit: number,
): Steps<AssetRowPage> {
  const listed = yield* findAssetKeysSteps(store, scope, filter, before, limit)
  return store.read((tx) => readAssetRows(tx, listed))
}

function readAssetRows(tx: Tx, { keys, reached }: AssetKeyPage): AssetRowPage {
  const rows: AssetTable[] = []
  let length = 0
  for (let at = 0; at < keys.length; at += READ_AT_ONCE)
    for (const row of listAssetsByKeys(tx, keys.slice(at, at + READ_AT_ONCE))) {
      length += row.metadata.length
      if (length > MOST_METADATA && rows.length > 0) return { rows, reached: rows.at(-1)!.key }
      rows.push(row)
    }
  return { rows, reached }
}

/** A key above that of the newest asset. */
function keyAboveNewest(tx: Tx): number {
  return (tx.get(ASSET_LIST_STATEMENTS.selectLast, {})?.key ?? 0) + 1
}

/** The result of the scan that gets furthest, without assets below deleted folders. It ends early if checking the folders takes long. */
function furthestScan(tx: Tx, scope: OwnerScope, ways: readonly IndexScan[], look: ScanRequest): AssetKeyPage {
  const looks = ways.map((way) => way(tx, look))
  const { rows, reached } = looks.reduce((one, other) => (other.reached < one.reached ? other : one))
  const deleted = new DeletedFolderLookup(tx, scope)
  const keys: number[] = []
  for (const { key, parent_id } of rows) {
    if (!deleted.isDeleted(parent_id)) keys.push(key)
    if (deleted.isOverBudget) return { keys, reached: key }
  }
  return { keys, reached }
}

const STATEMENTS: Readonly<Record<IndexedAssetFilter, typeof ASSET_LIST_STATEMENTS.byFolder>> = {
  folder: ASSET_LIST_STATEMENTS.byFolder,
  essence: ASSET_LIST_STATEMENTS.byEssence,
  family: ASSET_LIST_STATEMENTS.byFamily,
  workflow_id: ASSET_LIST_STATEMENTS.byWorkflow,
  job_id: ASSET_LIST_STATEMENTS.byJob,
}

function createIndexScans({ user_id, workspace_id }: OwnerScope, filter: AssetFilter): IndexScan[] {
  const used = (Object.keys(STATEMENTS) as IndexedAssetFilter[]).filter((name) => filter[name] !== null)
  const statements = used.length > 0 ? used.map((name) => STATEMENTS[name]) : [ASSET_LIST_STATEMENTS.byOwner]
  const asked = { user_id, workspace_id, ...filter, query: '', from: 0 }
  const ways = statements.map(
    (walk): IndexScan =>
      (tx, { before, examined }) =>
        toScanResult(tx.all(walk, { ...asked, before, examined }), examined, 0),
  )
  const query = filter.part === null ? null : nameTrigramQuery({ user_id, workspace_id }, filter.part)
  if (query === null) return ways
  const named: IndexScan = (tx, { before, examined, round }) => {
    const from = Math.max(0, before - FIRST_SPAN * WIDER ** round)
    return toScanResult(
      tx.all(ASSET_LIST_STATEMENTS.byName, { ...asked, query, before, from, examined }),
      examined,
      from,
    )
  }
  return [...ways, named]
}

function toScanResult(
  found: readonly { key: number; parent_id: string | null; examined: number | null }[],
  most: number,
  from: number,
): ScanResult {
  const all = found.find(({ examined }) => examined !== null)!
  const rows = found.filter(({ examined }) => examined === null)
  return { rows: rows.sort((a, b) => b.key - a.key), reached: all.examined! < most ? from : all.key }
}
