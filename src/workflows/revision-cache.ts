// WorkflowRevisionCache keeps the part of workflow rows that runs need, because reading a row costs as much as running a small graph. Only
// WorkflowService changes rows, and it removes changed workflows from this cache.

import { type OwnerScope, ownerScopeKey } from '../db/owner-scope.ts'
import type { WorkflowTable } from '../db/tables/workflows.ts'

export type WorkflowRevision = Pick<WorkflowTable, 'revision' | 'graph_sha256'>

const MOST_CACHED = 1_000

export class WorkflowRevisionCache {
  readonly #revisions = new Map<string, WorkflowRevision>()

  get(scope: OwnerScope, id: string): WorkflowRevision | undefined {
    return this.#revisions.get(ownerScopeKey(scope, id))
  }

  put(row: WorkflowTable): WorkflowRevision {
    const { revision, graph_sha256 } = row
    // Clearing the cache is rare, and cheaper than tracking the last use.
    if (this.#revisions.size >= MOST_CACHED) this.#revisions.clear()
    const head = { revision, graph_sha256 }
    this.#revisions.set(ownerScopeKey(row, row.id), head)
    return head
  }

  forget(scope: OwnerScope, id: string): void {
    this.#revisions.delete(ownerScopeKey(scope, id))
  }
}
