// Reads the versions of a workflow, the newest first. There may be very many with long descriptions, so they are read in steps, and only
// the listed members are kept.
import type { WorkflowVersion } from '../../generated/types.ts'
import type { Store } from '../db/store.ts'
import { listWorkflowVersions } from '../db/workflows.ts'
import { decodeNumberCursor, encodeNumberCursor } from '../shared/pagination-cursor.ts'
import type { Steps } from '../shared/time-slices.ts'
import { toWorkflowVersion } from './records.ts'

/** Rows of one step. The database needs a finite limit even if all rows are wanted. */
const MOST_ROWS = 1_000

export interface ListedVersion {
  readonly version: WorkflowVersion
  readonly graph_sha256: string
}

export interface VersionListRequest {
  limit?: number | null | undefined
  cursor?: string | null | undefined
}

export interface VersionListPage {
  versions: ListedVersion[]
  /** The cursor of the next page, or null on the last page. */
  next: string | null
}

/**
 * Reads a page of versions; all of them unless `limit` is given.
 * @throws INVALID_REQUEST for a cursor that no list gave
 */
export function* readVersionPageSteps(
  store: Pick<Store, 'read'>,
  workflow_id: string,
  { limit, cursor }: VersionListRequest,
): Steps<VersionListPage> {
  const before = decodeNumberCursor(cursor) ?? Number.MAX_SAFE_INTEGER
  const found = yield* readVersionsSteps(store, workflow_id, before, limit ? limit + 1 : Number.POSITIVE_INFINITY)
  const versions = limit ? found.slice(0, limit) : found
  return {
    versions,
    next: found.length > versions.length ? encodeNumberCursor(versions.at(-1)!.version.version) : null,
  }
}

/** Returns at most `most` versions with a revision below `before`. */
export function* readVersionsSteps(
  store: Pick<Store, 'read'>,
  workflow_id: string,
  before: number,
  most: number,
): Steps<ListedVersion[]> {
  const listed: ListedVersion[] = []
  for (let below = before; listed.length < most; below = listed.at(-1)!.version.version) {
    const limit = Math.min(most - listed.length, MOST_ROWS)
    const rows = store.read((tx) => listWorkflowVersions(tx, workflow_id, below, limit))
    if (rows.length === 0) break
    for (const row of rows) listed.push({ version: toWorkflowVersion(row), graph_sha256: row.graph_sha256 })
    yield
  }
  return listed
}
