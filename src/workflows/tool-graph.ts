// A node type that is called as a workflow of its own: its id says all of it.
import type { Graph, GraphEdge, GraphNode } from '../engine/graph.ts'
import { ONE_NODE } from '../engine/services.ts'
import { canonicalJson } from '../json.ts'

/** The one node of such a workflow, besides its inputs and outputs. */
const TOOL_NODE = 'tool'

export interface NodeCall {
  readonly node_type: string
  /** The node's own values. */
  readonly data: Readonly<Record<string, unknown>>
  /** The properties and dynamic inputs that arguments come for. */
  readonly given: readonly string[]
  readonly outputs: readonly string[]
  /** Its dynamic outputs, of any type. */
  readonly any?: readonly string[]
}

export function toolId(call: NodeCall): string {
  return `${ONE_NODE}${canonicalJson(call)}`
}

/** The graph that such an id means; null where it is the id of a workflow. */
export function toolGraph(id: string): Graph | null {
  return id.startsWith(ONE_NODE) ? graphOf(JSON.parse(id.slice(ONE_NODE.length)) as NodeCall) : null
}

function graphOf({ node_type, data, given, outputs: fixed, any = [] }: NodeCall): Graph {
  const outputs = [...fixed, ...any]
  const inputs = given.map((name, at): GraphNode => ({ id: `in${at}`, type: 'input.Any', data: { name } }))
  const results = outputs.map((name, at): GraphNode => ({ id: `out${at}`, type: 'output.Output', data: { name } }))
  const anyType = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, { type: 'any' }]))
  const dynamic = { dynamic_properties: anyType(given), ...(any.length > 0 ? { dynamic_outputs: anyType(any) } : {}) }
  const edges: GraphEdge[] = [
    ...given.map((name, at) => edge(`in${at}`, 'output', TOOL_NODE, name)),
    ...outputs.map((name, at) => edge(TOOL_NODE, name, `out${at}`, 'value')),
  ]
  return {
    nodes: [...inputs, { id: TOOL_NODE, type: node_type, data: { ...data }, ...dynamic }, ...results],
    edges,
  }
}

function edge(source: string, sourceHandle: string, target: string, targetHandle: string): GraphEdge {
  return { source, sourceHandle, target, targetHandle }
}
