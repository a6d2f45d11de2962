// RunnableWorkflows finds the caller's own workflows and the bundled examples, compiled for runs. A workflow of another owner is
// WORKFLOW_NOT_FOUND, like one that does not exist.
import type { Workflow, WorkflowInterface } from '../../generated/types.ts'
import { type OwnerScope, userShareKey } from '../db/owner-scope.ts'
import type { Store } from '../db/store.ts'
import type { WorkflowTable } from '../db/tables/workflows.ts'
import * as rows from '../db/workflows.ts'
import { runToCompletion } from '../shared/time-slices.ts'
import { type BundledExample, loadExamples } from './examples.ts'
import { BUNDLED } from './graph-key.ts'
import { deriveInterfaceSteps } from './interface.ts'
import { workflowNotFoundWithHint } from './not-found.ts'
import { type CompiledWorkflowGraph, isLargeGraph, type PlanCache } from './plan-cache.ts'
import { WorkflowRevisionCache } from './revision-cache.ts'
import { parseNodeCallGraph } from './tools/node-call-graph.ts'

/** What a run needs of a workflow. */
export interface RunnableWorkflow {
  workflow_id: string
  /** Null for a bundled example, which has no row. */
  revision: number | null
  compiled: CompiledWorkflowGraph
}

export class RunnableWorkflows {
  protected readonly store: Store
  protected readonly plans: PlanCache
  protected readonly revisions = new WorkflowRevisionCache()
  /** Compiled examples by id. They are few, and hashing one for every run costs more than running it. */
  readonly #examples = new Map<string, CompiledWorkflowGraph>()

  constructor(store: Store, plans: PlanCache) {
    this.store = store
    this.plans = plans
  }

  /**
   * Prepares the caller's own workflow for a new run, so that the next call returns all issues. It compiles a large graph in time slices
   * and parses slow expressions. Returns null if there is nothing to wait for, or no such workflow. `deadline`: the time limit for slow
   * expressions, if several workflows share one.
   */
  prepare(scope: OwnerScope, id: string, deadline?: AbortSignal): Promise<unknown> | null {
    const hash = this.#graphHashOf(scope, id)
    return hash === null ? null : this.plans.prepareRun(userShareKey(scope), hash, deadline)
  }

  /** Returns the hash of the graph of the caller's own workflow; null for a bundled example, and if there is no such workflow. */
  #graphHashOf(scope: OwnerScope, id: string): string | null {
    if (loadExamples().has(id)) return null
    const head = this.revisions.get(scope, id) ?? this.store.read((tx) => rows.findOwnedWorkflow(tx, scope, id))
    return head?.graph_sha256 ?? null
  }

  /** Counts the memory of a large graph for as long as a request uses it, until the result is disposed of. */
  hold(compiled: CompiledWorkflowGraph): Disposable | null {
    return this.plans.hold(compiled)
  }

  /**
   * Returns the inputs and outputs of a workflow. For a large one, they are derived in time slices.
   * @throws WORKFLOW_NOT_FOUND, INVALID_WORKFLOW_GRAPH if two inputs or outputs share a name
   */
  async interface(scope: OwnerScope, id: string): Promise<WorkflowInterface> {
    await this.prepare(scope, id)
    return (await this.sizedInterface(scope, id)).record
  }

  /**
   * Returns the same without parsing slow expressions, and the length of the graph's JSON text. The interface may be about as long, because
   * it includes defaults.
   */
  async sizedInterface(scope: OwnerScope, id: string): Promise<{ record: WorkflowInterface; graph_length: number }> {
    const hash = this.#graphHashOf(scope, id)
    const preparing = hash === null ? null : this.plans.prepareStored(userShareKey(scope), hash)
    if (preparing) await preparing
    const { compiled } = this.runnable(scope, id)
    using _ = this.hold(compiled)
    const steps = deriveInterfaceSteps(id, compiled)
    const record = isLargeGraph(compiled)
      ? await this.plans.slices.run(userShareKey(scope), steps)
      : runToCompletion(steps)
    return { record, graph_length: compiled.body.length }
  }

  /** Returns the caller's own workflow or a bundled example, compiled. No row has the id of an example. */
  runnable(scope: OwnerScope, id: string): RunnableWorkflow {
    if (loadExamples().has(id)) return { workflow_id: id, revision: null, compiled: this.example(id).compiled }
    const { revision, graph_sha256 } = this.revisions.get(scope, id) ?? this.revisions.put(this.requireOwned(scope, id))
    return { workflow_id: id, revision, compiled: this.plans.compileStored(graph_sha256) }
  }

  /** Returns the graph for a call from a run: that of a workflow as `runnable` finds it, or that of a node type called as a workflow. */
  callable(scope: OwnerScope, id: string): CompiledWorkflowGraph {
    const tool = parseNodeCallGraph(id)
    return tool ? this.plans.compile(userShareKey(scope), tool) : this.runnable(scope, id).compiled
  }

  /** Returns the name and description of the caller's own workflow or a bundled example. */
  titleOf(scope: OwnerScope, id: string): Pick<Workflow, 'name' | 'description'> {
    const { name, description } = loadExamples().get(id) ?? this.requireOwned(scope, id)
    return { name, description: description ?? '' }
  }

  /** Returns the bundled examples, ordered by id. */
  examples(): BundledExample[] {
    return [...loadExamples().values()]
  }

  example(id: string): { example: BundledExample; compiled: CompiledWorkflowGraph } {
    const example = loadExamples().get(id)
    if (!example) throw workflowNotFoundWithHint(id)
    const compiled = this.#examples.get(id) ?? this.plans.compile(BUNDLED, example.graph)
    this.#examples.set(id, compiled)
    return { example, compiled }
  }

  protected requireOwned(scope: OwnerScope, id: string): WorkflowTable {
    const row = this.store.read((tx) => rows.findOwnedWorkflow(tx, scope, id))
    if (!row) throw workflowNotFoundWithHint(id)
    return row
  }
}
