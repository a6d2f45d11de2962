// Decides which constants of a node may change during a run: those that do not shape the graph and that no edge feeds.

import type { Plan } from '../compile/compiler.ts'
import { createPropertyCheck, tryCoerce } from '../compile/node-constants.ts'
import { getNodeTypeInfo } from '../compile/node-type-info.ts'
import type { PlanNode } from '../compile/plan.ts'
import type { InputValues } from '../node-api/firing-forms.ts'

/** Properties of the graph's interface, or read once at the start. */
const FIXED_PROPERTIES = { input: new Set(['name', 'value', 'stream']), output: new Set(['name']) }

/** Cached, as a node may have very many edges and change very often. */
const connectedInputsByNode = new WeakMap<PlanNode, ReadonlySet<string | null>>()

/** The inputs of a node that edges feed. */
function findConnectedInputs(node: PlanNode): ReadonlySet<string | null> {
  const connected = connectedInputsByNode.get(node) ?? new Set(node.slots.map((slot) => slot.name))
  connectedInputsByNode.set(node, connected)
  return connected
}

/** The applicable properties, converted; null: no such node. */
export function resolvePropertyUpdates(
  plan: Plan,
  node_id: string,
  properties: Readonly<Record<string, unknown>>,
): InputValues | null {
  const node = plan.nodes[plan.indexById.get(node_id) ?? -1]
  return node ? resolveNodeUpdates(node, properties) : null
}

/** The applicable properties, converted for the node. */
export function resolveNodeUpdates(node: PlanNode, properties: Readonly<Record<string, unknown>>): InputValues {
  const connected = findConnectedInputs(node)
  const { properties: declared } = getNodeTypeInfo(node.type)
  const applied: InputValues = {}
  for (const [name, value] of Object.entries(properties)) {
    const { role } = node.type
    if (connected.has(name) || (role && FIXED_PROPERTIES[role].has(name)) || !Object.hasOwn(node.constants, name))
      continue
    const property = declared.get(name)
    const result = property ? tryCoerce(createPropertyCheck(property), value ?? property.default ?? null) : { value }
    if ('value' in result) applied[name] = result.value
  }
  return applied
}
