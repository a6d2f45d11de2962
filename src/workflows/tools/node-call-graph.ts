// Builds the graph for a call of a node type as a workflow. The id of that workflow contains the whole call.
import type { Graph, GraphEdge, GraphNode } from '../../engine/compile/graph.ts'
import { SINGLE_NODE_PREFIX } from '../../engine/node-api/services/tools.ts'
import { canonicalJson } from '../../shared/json.ts'

/** The id of the called node in the graph, beside the inputs and outputs. */
const TOOL_NODE = 'tool'

export interface NodeToolCall {
  readonly node_type: string
  /** The node's own values. */
  readonly data: Readonly<Record<string, unknown>>
  /** The properties and dynamic inputs that get arguments. */
  readonly given: readonly string[]
  readonly outputs: readonly string[]
  /** The dynamic outputs of the node, of any type. */
  readonly any?: readonly string[]
}

/** The canonical JSON of the node's own values: the calls of one turn of a model share them, and they may have 100,000 characters. */
const dataTexts = new WeakMap<object, string>()

function formatData(data: NodeToolCall['data']): string {
  const text = dataTexts.get(data) ?? canonicalJson(data)
  dataTexts.set(data, text)
  return text
}

/** The id: a prefix, and the call as canonical JSON. */
export function formatNodeCallId({ any, data, given, node_type, outputs }: NodeToolCall): string {
  const dynamic = any ? `"any":${canonicalJson(any)},` : ''
  const rest = `"given":${canonicalJson(given)},"node_type":${canonicalJson(node_type)},"outputs":${canonicalJson(outputs)}`
  return `${SINGLE_NODE_PREFIX}{${dynamic}"data":${formatData(data)},${rest}}`
}

/** Returns the graph for such an id; null for the id of a stored workflow. */
export function parseNodeCallGraph(id: string): Graph | null {
  return id.startsWith(SINGLE_NODE_PREFIX)
    ? buildGraph(JSON.parse(id.slice(SINGLE_NODE_PREFIX.length)) as NodeToolCall)
    : null
}

function buildGraph({ node_type, data, given, outputs: fixed, any = [] }: NodeToolCall): Graph {
  const outputs = [...fixed, ...any]
  const inputs = given.map((name, at): GraphNode => ({ id: `in${at}`, type: 'input.Any', data: { name } }))
  const results = outputs.map((name, at): GraphNode => ({ id: `out${at}`, type: 'output.Output', data: { name } }))
  const anyType = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, { type: 'any' }]))
  const dynamic = { dynamic_properties: anyType(given), ...(any.length > 0 ? { dynamic_outputs: anyType(any) } : {}) }
  const edges: GraphEdge[] = [
    ...given.map((name, at) => createEdge(`in${at}`, 'output', TOOL_NODE, name)),
    ...outputs.map((name, at) => createEdge(TOOL_NODE, name, `out${at}`, 'value')),
  ]
  return {
    nodes: [...inputs, { id: TOOL_NODE, type: node_type, data: { ...data }, ...dynamic }, ...results],
    edges,
  }
}

function createEdge(source: string, sourceHandle: string, target: string, targetHandle: string): GraphEdge {
  return { source, sourceHandle, target, targetHandle }
}
