// Collects the needs of all nodes of a run and of the workflows that it calls. What is kept of them is bounded.
import type { NodeNeed } from '../../engine/node-api/node-facts.ts'
import { isSecretName } from '../../shared/secret-name.ts'
import type { AbortableTimeSlices } from './abortable-time-slices.ts'
import type { AssetReferences } from './asset-references.ts'
import type { CallGraph, WorkflowUnit } from './call-graph.ts'
import type { ModelNeed } from './model-requirement.ts'
import { type NodeView, nodeFactsOf } from './node-views.ts'

/** Number of needs that one preflight checks: more than the nodes of the largest graph have. */
export const MOST_NEEDS = 200_000
/** Number of asset needs that are added before other work may get its turn. */
const ASSETS_AT_ONCE = 100

/** A need without its prompt, which may be long. */
export type KeptNeed = ModelNeed | Exclude<NodeNeed, { kind: 'model' | 'asset' }>

/** A node of a run. A node whose needs are the same in every unit occurs once, with the first of its units. */
export interface NodeWithNeeds {
  readonly unit: WorkflowUnit
  readonly view: NodeView
  /** The id of the node, prefixed with the id of its workflow if that is called. It is the same at every preflight. */
  readonly qualified_id: string
  /** The needs besides assets. */
  readonly needs: readonly KeptNeed[]
}

/** Whether inputs of the unit decide on the needs of a node. */
export function hasNeedsOfUnit({ type, runInputs }: NodeView): boolean {
  return type?.needs !== undefined && runInputs.size > 0
}

/** Returns the prompts of a node's model needs, in their order. Null: unknown before the run. */
export function listPrompts({ view, unit }: NodeWithNeeds): (readonly string[] | null)[] {
  return listOwnNeeds(view, unit).flatMap((need) => (need.kind === 'model' ? [need.prompt] : []))
}

export class NeedsCollector {
  /** The nodes that have needs or runtimes, or an unknown type. */
  readonly nodes: NodeWithNeeds[] = []
  /** False if there were more needs than are checked. */
  isComplete = true
  readonly #references: AssetReferences
  readonly #turns: AbortableTimeSlices
  readonly #most: number
  #count = 0
  /** For each graph and workflow: the nodes that have to be visited for every unit. Two workflows may have equal graphs. */
  readonly #revisited = new Map<readonly NodeView[], Map<string, readonly NodeView[]>>()
  /** The input nodes whose default was searched for references. */
  readonly #readInputs = new Set<NodeView>()

  /** The assets of the nodes are added to `references`. */
  constructor(references: AssetReferences, turns: AbortableTimeSlices, most = MOST_NEEDS) {
    this.#references = references
    this.#turns = turns
    this.#most = most
  }

  async collect({ root, units }: CallGraph): Promise<void> {
    for (const unit of units) {
      const prefix = unit === root ? '' : `${unit.workflow_id}/`
      const workflows = this.#revisited.get(unit.views) ?? new Map<string, readonly NodeView[]>()
      const revisited = workflows.get(unit.workflow_id)
      const revisit: NodeView[] = []
      for (const view of revisited ?? unit.views) {
        if (this.#turns.over) await this.#turns.next()
        if (!revisited && (view.type?.role === 'input' || hasNeedsOfUnit(view))) revisit.push(view)
        await this.#collectNode(unit, view, prefix, revisited === undefined)
        if (!this.isComplete) return
      }
      if (!revisited) this.#revisited.set(unit.views, workflows.set(unit.workflow_id, revisit))
    }
  }

  async #collectNode(unit: WorkflowUnit, view: NodeView, prefix: string, isFirstVisit: boolean): Promise<void> {
    const { type } = view
    const needs = isFirstVisit ? await this.#listNeeds(view, unit) : listOwnNeeds(view, unit)
    this.#count += type?.needs ? Math.max(1, needs.length) : needs.length
    this.isComplete = this.#count <= this.#most
    if (!this.isComplete) return
    const kept = await this.#takeAssets(needs)
    if (kept.length > 0 || (isFirstVisit && (!type || (type.required_runtimes ?? []).length > 0)))
      this.nodes.push({ unit, view, qualified_id: `${prefix}${view.id}`, needs: kept })
    await this.#collectReferences(unit, view, isFirstVisit)
  }

  /** Adds the assets, and returns the other needs. */
  async #takeAssets(needs: readonly NodeNeed[]): Promise<KeptNeed[]> {
    const kept: KeptNeed[] = []
    let added = 0
    for (const need of needs) {
      if (need.kind === 'model') kept.push(omitPrompt(need))
      else if (need.kind !== 'asset') kept.push(need)
      else {
        this.#references.add(need.reference)
        if (++added % ASSETS_AT_ONCE === 0 && this.#turns.over) await this.#turns.next()
      }
    }
    return kept
  }

  /** Collects references from the values of a node. Unused defaults are skipped, and streams have none. */
  async #collectReferences(unit: WorkflowUnit, view: NodeView, isFirstVisit: boolean): Promise<void> {
    const { name, stream, value } = view.data
    if (view.type?.role !== 'input') {
      if (isFirstVisit) await this.#references.collect(view.data)
    } else if (stream !== true && !this.#readInputs.has(view) && !unit.covered.has(String(name))) {
      this.#readInputs.add(view)
      await this.#references.collect(value)
    }
  }

  async #listNeeds(view: NodeView, unit: WorkflowUnit): Promise<NodeNeed[]> {
    const { type } = view
    if (!type) return []
    const names = (type.required_settings ?? []).filter(isSecretName)
    const named = type.secretNamesSteps ? await this.#turns.run(type.secretNamesSteps(nodeFactsOf(view))) : []
    const secrets = [...names, ...named].map((name): NodeNeed => ({ kind: 'credential', name }))
    if (!hasNeedsOfUnit(view)) return [...secrets, ...listOwnNeeds(view, unit)]
    const fixed = type.needs!(nodeFactsOf(view)).filter((need) => !isModelOrAssetNeed(need))
    return [...secrets, ...fixed, ...listOwnNeeds(view, unit)]
  }
}

/**
 * Returns the needs of a node in its unit. Arguments of a workflow come along an edge, so the node reads no secret names in them. The models
 * and assets that they name are known, though.
 */
function listOwnNeeds(view: NodeView, { given }: WorkflowUnit): readonly NodeNeed[] {
  const { type } = view
  if (!type?.needs) return []
  if (!hasNeedsOfUnit(view)) return type.needs(nodeFactsOf(view))
  return type.needs(nodeFactsOf(view, given)).filter(isModelOrAssetNeed)
}

function isModelOrAssetNeed({ kind }: NodeNeed): boolean {
  return kind === 'model' || kind === 'asset'
}

function omitPrompt({ prompt: _, ...need }: Extract<NodeNeed, { kind: 'model' }>): ModelNeed {
  return need
}
