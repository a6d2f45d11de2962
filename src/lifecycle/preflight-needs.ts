// Everything that the nodes of a run, and of the workflows that it calls, say that they need.
import type { NodeNeed } from '../engine/node-type.ts'
import { isSecretName } from '../secret-name.ts'
import { factsOf, type NodeView } from './preflight-nodes.ts'
import type { Turns } from './preflight-turns.ts'
import type { Family, Unit } from './preflight-units.ts'

/** One node of a run. */
export interface Needy {
  readonly unit: Unit
  readonly view: NodeView
  /** Its id, behind that of its workflow where that is called: the same at every preflight. */
  readonly place: string
  readonly needs: readonly NodeNeed[]
}

export async function needsOf({ root, units }: Family, turns: Turns): Promise<Needy[]> {
  const nodes: Needy[] = []
  for (const unit of units) {
    for (const view of unit.views) {
      if (turns.over) await turns.next()
      const place = unit === root ? view.id : `${unit.workflow_id}/${view.id}`
      nodes.push({ unit, view, place, needs: nodeNeeds(view, unit) })
    }
  }
  return nodes
}

function nodeNeeds(view: NodeView, unit: Unit): NodeNeed[] {
  const { type } = view
  if (!type) return []
  const settings = (type.required_settings ?? [])
    .filter(isSecretName)
    .map((name): NodeNeed => ({ kind: 'credential', name }))
  if (!type.needs) return settings
  const own = type.needs(factsOf(view))
  if (view.given.size === 0) return [...settings, ...own]
  // What a workflow is given comes along an edge, and the node treats it as such: it names no secrets. Which model it names is known, though.
  const told = type.needs(factsOf(view, unit.given)).filter(isPlain)
  return [...settings, ...own.filter((need) => !isPlain(need)), ...told]
}

function isPlain({ kind }: NodeNeed): boolean {
  return kind === 'model' || kind === 'asset'
}
