// Reads pages of workflow lists, the last changed workflow first.
import type { WorkflowListItem } from '../../generated/types.ts'
import type { OwnerScope } from '../db/owner-scope.ts'
import type { Store } from '../db/store.ts'
import * as rows from '../db/workflows.ts'
import { decodeTimeCursor, encodeTimeCursor } from '../shared/pagination-cursor.ts'
import type { Steps } from '../shared/time-slices.ts'
import { toWorkflowListItem, withoutWorkspace } from './records.ts'

export interface WorkflowListRequest {
  tag?: string | null | undefined
  q?: string | null | undefined
  limit?: number | null | undefined
  cursor?: string | null | undefined
  /** The JSON pointer of the cursor in a request that did not come over HTTP. */
  cursor_at?: string
}

export interface WorkflowListPage {
  workflows: WorkflowListItem[]
  /** The cursor of the next page, or null on the last page. */
  next: string | null
}

/**
 * Reads a page of the workflows of a scope, or of all public ones. One query selects the workflows, and each is then read in a step of its
 * own.
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
  const positions = store.read((tx) => rows.listWorkflowPositions(tx, scope, after, asked))
  const workflows: WorkflowListItem[] = []
  let last: rows.WorkflowCursor | null = null
  for (const position of positions) {
    // A row may be long, so each is read by itself.
    const row = store.read((tx) => rows.findWorkflowForList(tx, { scope, tag, q }, position.id))
    yield
    if (!row) continue
    if (workflows.length === most) return { workflows, next: encodeNextCursor(last!) }
    workflows.push(toWorkflowListItem(scope === null ? withoutWorkspace(row) : row))
    last = position
  }
  // If some were skipped, there may be more after the last position.
  return { workflows, next: positions.length === asked ? encodeNextCursor(positions.at(-1)!) : null }
}

function encodeNextCursor({ updated_at, id }: rows.WorkflowCursor): string {
  return encodeTimeCursor({ at: updated_at, id })
}
