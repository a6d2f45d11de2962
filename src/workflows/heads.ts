// What a run asks of a workflow's row, kept in memory: looking it up costs as much as running a small graph.
// Only the workflow service of this process changes rows, and it forgets here what it changes.
import type { WorkflowTable } from '../db/schema.ts'
import { type Scope, scopedKey } from '../db/scope.ts'

export type Head = Pick<WorkflowTable, 'revision' | 'graph_sha256'>

const KEPT = 1_000

export class Heads {
  readonly #kept = new Map<string, Head>()

  get(scope: Scope, id: string): Head | undefined {
    return this.#kept.get(scopedKey(scope, id))
  }

  keep(row: WorkflowTable): Head {
    const { revision, graph_sha256 } = row
    // Dropping all is rare, and cheaper than knowing which was used last.
    if (this.#kept.size >= KEPT) this.#kept.clear()
    const head = { revision, graph_sha256 }
    this.#kept.set(scopedKey(row, row.id), head)
    return head
  }

  forget(scope: Scope, id: string): void {
    this.#kept.delete(scopedKey(scope, id))
  }
}
