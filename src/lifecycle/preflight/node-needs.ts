// Collects the needs of all nodes of a run and of the workflows that it calls.
import type { NodeNeed } from '../../engine/node-api/node-facts.ts'
import { isSecretName } from '../../shared/secret-name.ts'
import type { AbortableTimeSlices } from './abortable-time-slices.ts'
import type { CallGraph, WorkflowUnit } from './call-graph.ts'
import { type NodeView, nodeFactsOf } from './node-views.ts'

/** A node of a run. */
export interface NodeWithNeeds {
  readonly unit: WorkflowUnit
  readonly view: NodeView
  /** The id of the node, prefixed with the id of its workflow if that is called. It is the same at every preflight. */
  readonly qualified_id: string
  readonly needs: readonly NodeNeed[]
}

export async function collectNeeds({ root, units }: CallGraph, turns: AbortableTimeSlices): Promise<NodeWithNeeds[]> {
  const nodes: NodeWithNeeds[] = []
  for (const unit of units) {
    for (const view of unit.views) {
      if (turns.over) await turns.next()
      const qualified_id = unit === root ? view.id : `${unit.workflow_id}/${view.id}`
      nodes.push({ unit, view, qualified_id, needs: listNodeNeeds(view, unit) })
    }
  }
  return nodes
}

function listNodeNeeds(view: NodeView, unit: WorkflowUnit): NodeNeed[] {
  const { type } = view
  if (!type) return []
  const settings = (type.required_settings ?? [])
    .filter(isSecretName)
    .map((name): NodeNeed => ({ kind: 'credential', name }))
  if (!type.needs) return settings
  const own = type.needs(nodeFactsOf(view))
  if (view.runInputs.size === 0) return [...settings, ...own]
  // Arguments of a workflow come along an edge, so the node reads no secret names in them. The models and assets that they name are known,
  // though.
  const resolved = type.needs(nodeFactsOf(view, unit.given)).filter(isModelOrAssetNeed)
  return [...settings, ...own.filter((need) => !isModelOrAssetNeed(need)), ...resolved]
}

function isModelOrAssetNeed({ kind }: NodeNeed): boolean {
  return kind === 'model' || kind === 'asset'
}
