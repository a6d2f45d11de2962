// Turns the parameters of an asset list into a filter, a page size and a name for cursors.
import type { AssetFilter } from '../db/assets/list-queries.ts'
import type { CursorListName } from '../db/sealed-cursors.ts'
import { foldText } from '../db/text-folding.ts'
import { essenceOf } from './content-type.ts'
import { FOLDER_CONTENT_TYPE } from './record.ts'

export interface AssetListRequest {
  readonly parent_id?: string | null | undefined
  readonly content_type?: string | null | undefined
  readonly q?: string | null | undefined
  readonly workflow_id?: string | null | undefined
  readonly job_id?: string | null | undefined
  readonly page_size?: number | null | undefined
  readonly cursor?: string | null | undefined
  /** The JSON pointer of the cursor in the request; `/query/cursor` if absent. */
  readonly cursor_at?: string
}

/** Stands for the top level, in the place of a folder's id. */
export const ROOT_FOLDER_ID = 'root'

/** UTF-16 characters of `q` that are searched for. No name has a quarter of them, in any normal form, so a longer text is found in no name. */
const LONGEST_PART = 16_384

const DEFAULT_PAGE_SIZE = 100
const LARGEST_PAGE = 500

/** Returns the page size, limited to the allowed range. */
export function resolvePageSize({ page_size }: AssetListRequest): number {
  return Math.min(LARGEST_PAGE, Math.max(1, page_size ?? DEFAULT_PAGE_SIZE))
}

export function toAssetFilter({ parent_id, content_type, q, workflow_id, job_id }: AssetListRequest): AssetFilter {
  const type = content_type ? essenceOf(content_type) : null
  const whole = type !== null && (type.includes('/') || type === FOLDER_CONTENT_TYPE)
  return {
    folder: parent_id ? (parent_id === ROOT_FOLDER_ID ? '' : parent_id) : null,
    essence: whole ? type : null,
    family: whole ? null : type,
    part: q ? foldText(q.slice(0, LONGEST_PART)) : null,
    workflow_id: workflow_id ?? null,
    job_id: job_id ?? null,
  }
}

/** Returns the name by which cursors are bound to this list. */
export function assetListName({ folder, essence, family, part, workflow_id, job_id }: AssetFilter): CursorListName {
  return ['assets', folder, essence, family, part, workflow_id, job_id]
}
