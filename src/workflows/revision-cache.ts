// What a run asks of a workflow's row, kept in memory: looking it up costs as much as running a small graph.
// Only the workflow service of this process changes rows, and it forgets here what it changes.

import { type OwnerScope, ownerScopeKey } from '../db/owner-scope.ts'
import type { WorkflowTable } from '../db/schema.ts'

export type WorkflowRevision = Pick<WorkflowTable, 'revision' | 'graph_sha256'>

const MOST_CACHED = 1_000

export class WorkflowRevisionCache {
  readonly #revisions = new Map<string, WorkflowRevision>()

  get(scope: OwnerScope, id: string): WorkflowRevision | undefined {
    return this.#revisions.get(ownerScopeKey(scope, id))
  }

  put(row: WorkflowTable): WorkflowRevision {
    const { revision, graph_sha256 } = row
    // Dropping all is rare, and cheaper than knowing which was used last.
    if (this.#revisions.size >= MOST_CACHED) this.#revisions.clear()
    const head = { revision, graph_sha256 }
    this.#revisions.set(ownerScopeKey(row, row.id), head)
    return head
  }

  forget(scope: OwnerScope, id: string): void {
    this.#revisions.delete(ownerScopeKey(scope, id))
  }
}
