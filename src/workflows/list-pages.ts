// Pages of lists of workflows: which ones they show, the last changed first.
import type { WorkflowListItem } from '../../generated/types.ts'
import type { OwnerScope } from '../db/owner-scope.ts'
import type { Store } from '../db/store.ts'
import * as rows from '../db/workflows.ts'
import { decodeTimeCursor, encodeTimeCursor } from '../shared/pagination-cursor.ts'
import type { Steps } from '../shared/time-slices.ts'
import { toWorkflowListItem } from './records.ts'

export interface WorkflowListRequest {
  tag?: string | null | undefined
  q?: string | null | undefined
  limit?: number | null | undefined
  cursor?: string | null | undefined
  /** The pointer of the cursor in a request that did not come over HTTP. */
  cursor_at?: string
}

export interface WorkflowListPage {
  workflows: WorkflowListItem[]
  /** The cursor of the next page, or null on the last one. */
  next: string | null
}

/**
 * A page of the workflows of a scope, or of the public ones of everybody. Which ones is decided at once; each is shown as it is when its turn comes.
 * @throws INVALID_REQUEST for a cursor that no list gave
 */
export function* readPageSteps(
  store: Store,
  scope: OwnerScope | null,
  { tag, q, limit, cursor, cursor_at }: WorkflowListRequest,
): Steps<WorkflowListPage> {
  const moment = decodeTimeCursor(cursor, cursor_at)
  const after = moment && { updated_at: moment.at, id: moment.id }
  const most = limit ?? Number.POSITIVE_INFINITY
  const asked = tag || q || !limit ? null : limit + 1
  const places = store.read((tx) => rows.listWorkflowPositions(tx, scope, after, asked))
  const workflows: WorkflowListItem[] = []
  let last: rows.WorkflowCursor | null = null
  for (const place of places) {
    // A row may be long: each is read by itself.
    const row = store.read((tx) => rows.findWorkflowForList(tx, { scope, tag, q }, place.id))
    yield
    if (!row) continue
    if (workflows.length === most) return { workflows, next: encodeNextCursor(last!) }
    workflows.push(toWorkflowListItem(row))
    last = place
  }
  // Where some were left out there may be more behind the last place.
  return { workflows, next: places.length === asked ? encodeNextCursor(places.at(-1)!) : null }
}

function encodeNextCursor({ updated_at, id }: rows.WorkflowCursor): string {
  return encodeTimeCursor({ at: updated_at, id })
}
