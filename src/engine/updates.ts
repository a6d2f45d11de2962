// Which own values of a node may change while a run goes on: those that shape no graph and that no edge feeds.
import { attempt, propertyCheck } from './constants.ts'
import type { Inputs } from './node-type.ts'
import type { Plan } from './plan.ts'
import type { PlanNode } from './plan-parts.ts'
import { typeInfo } from './type-info.ts'

/** What belongs to the graph's interface, or is read once before anything else. */
const FIXED = { input: new Set(['name', 'value', 'stream']), output: new Set(['name']) }

/** A node may have very many edges, and be changed very often. */
const connections = new WeakMap<PlanNode, ReadonlySet<string | null>>()

/** The inputs of a node that edges feed. */
function connectedOf(node: PlanNode): ReadonlySet<string | null> {
  const connected = connections.get(node) ?? new Set(node.slots.map((slot) => slot.name))
  connections.set(node, connected)
  return connected
}

/** The given properties that apply, converted; null: no such node. */
export function changeable(plan: Plan, node_id: string, properties: Readonly<Record<string, unknown>>): Inputs | null {
  const node = plan.nodes[plan.indexById.get(node_id) ?? -1]
  return node ? applicable(node, properties) : null
}

/** The given properties that apply, converted as the node takes them. */
export function applicable(node: PlanNode, properties: Readonly<Record<string, unknown>>): Inputs {
  const connected = connectedOf(node)
  const { properties: declared } = typeInfo(node.type)
  const applied: Inputs = {}
  for (const [name, value] of Object.entries(properties)) {
    const { role } = node.type
    if (connected.has(name) || (role && FIXED[role].has(name)) || !Object.hasOwn(node.constants, name)) continue
    const property = declared.get(name)
    const result = property ? attempt(propertyCheck(property), value ?? property.default ?? null) : { value }
    if ('value' in result) applied[name] = result.value
  }
  return applied
}
