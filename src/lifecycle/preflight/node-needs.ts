// Everything that the nodes of a run, and of the workflows that it calls, say that they need.
import type { NodeNeed } from '../../engine/node-api/node-type.ts'
import { isSecretName } from '../../shared/secret-name.ts'
import type { AbortableTimeSlices } from './abortable-time-slices.ts'
import type { CallGraph, WorkflowUnit } from './call-graph.ts'
import { type NodeView, nodeFactsOf } from './node-views.ts'

/** One node of a run. */
export interface NodeWithNeeds {
  readonly unit: WorkflowUnit
  readonly view: NodeView
  /** Its id, behind that of its workflow where that is called: the same at every preflight. */
  readonly qualified_id: string
  readonly needs: readonly NodeNeed[]
}

export async function collectNeeds({ root, units }: CallGraph, turns: AbortableTimeSlices): Promise<NodeWithNeeds[]> {
  const nodes: NodeWithNeeds[] = []
  for (const unit of units) {
    for (const view of unit.views) {
      if (turns.over) await turns.next()
      const place = unit === root ? view.id : `${unit.workflow_id}/${view.id}`
      nodes.push({ unit, view, qualified_id: place, needs: listNodeNeeds(view, unit) })
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
  // What a workflow is given comes along an edge, and the node treats it as such: it names no secrets. Which model it names is known, though.
  const told = type.needs(nodeFactsOf(view, unit.given)).filter(isModelOrAssetNeed)
  return [...settings, ...own.filter((need) => !isModelOrAssetNeed(need)), ...told]
}

function isModelOrAssetNeed({ kind }: NodeNeed): boolean {
  return kind === 'model' || kind === 'asset'
}
