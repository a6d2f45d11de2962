// Pages of assets: what a caller filters by.
import type { AssetFilter } from '../db/asset-lists.ts'
import { folded } from '../db/folding.ts'
import type { ListName } from '../sealed-cursors.ts'
import { essenceOf } from './content-type.ts'
import { FOLDER } from './record.ts'

export interface ListRequest {
  readonly parent_id?: string | null | undefined
  readonly content_type?: string | null | undefined
  readonly q?: string | null | undefined
  readonly workflow_id?: string | null | undefined
  readonly job_id?: string | null | undefined
  readonly page_size?: number | null | undefined
  readonly cursor?: string | null | undefined
  /** Where the cursor stands in the request, as a JSON pointer; `/query/cursor` if absent. */
  readonly cursor_at?: string
}

/** What stands for the top level, in the place of a folder's id. */
export const ROOT = 'root'

/** Characters (of UTF-16) of a part of a name. No name has a quarter of them, however its letters are put together: a longer part, of which nothing more is looked at, is found in none. */
const LONGEST_PART = 16_384

const PAGE = 100
const LARGEST_PAGE = 500

/** How many assets a page holds: the nearest number that may be asked for. */
export function pageSize({ page_size }: ListRequest): number {
  return Math.min(LARGEST_PAGE, Math.max(1, page_size ?? PAGE))
}

export function filterOf({ parent_id, content_type, q, workflow_id, job_id }: ListRequest): AssetFilter {
  const type = content_type ? essenceOf(content_type) : null
  const whole = type !== null && (type.includes('/') || type === FOLDER)
  return {
    folder: parent_id ? (parent_id === ROOT ? '' : parent_id) : null,
    essence: whole ? type : null,
    family: whole ? null : type,
    part: q ? folded(q.slice(0, LONGEST_PART)) : null,
    workflow_id: workflow_id ?? null,
    job_id: job_id ?? null,
  }
}

/** For the cursors between its pages. */
export function listName({ folder, essence, family, part, workflow_id, job_id }: AssetFilter): ListName {
  return ['assets', folder, essence, family, part, workflow_id, job_id]
}
