// First pass over a graph: finds each node's type and each edge's ends, and reports what doesn't exist,
// exists twice or doesn't fit. Order, scopes and values are later passes.
import { Conversions } from './conversions.ts'
import type { Graph, GraphEdge, GraphIssue, GraphIssueCode, GraphNode } from './graph.ts'
import type { NodeRegistry, NodeType } from './node-type.ts'
import type { PlanNodeOutput } from './plan-parts.ts'
import { Hints } from './suggest.ts'
import { mismatch, noInput, noOutput } from './texts.ts'
import { type TypeInfo, typeInfo } from './type-info.ts'
import { ANY, fits, isTypeName, readType, type TypeMetadata } from './types.ts'

export interface DraftNode {
  readonly index: number
  readonly id: string
  readonly node: GraphNode
  readonly data: Readonly<Record<string, unknown>>
  readonly type: NodeType
  readonly info: TypeInfo
  /** Inputs beyond the type's properties, by name; those an edge alone declares are any. */
  readonly dynamic: Map<string, TypeMetadata>
  readonly outputs: ReadonlyMap<string, PlanNodeOutput>
  readonly incoming: DraftEdge[]
  readonly outgoing: DraftEdge[]
  /** Inputs that an edge was meant to feed, good or bad: a bad edge is complaint enough. */
  readonly meant: Set<string>
}

export interface DraftEdge {
  readonly id: string
  readonly source: DraftNode
  readonly target: DraftNode
  /** The source's output, or null for the signal of its firings. */
  readonly handle: string | null
  /** The target's input, or null for a control edge. */
  readonly input: string | null
  readonly sourceType: TypeMetadata
  readonly targetType: TypeMetadata
  /** Whether it brings back what a loop's round gave. */
  readonly feedback: boolean
}

export interface Draft {
  readonly nodes: DraftNode[]
  readonly issues: GraphIssue[]
}

export function issue(
  code: GraphIssueCode,
  message: string,
  node_id: string | null,
  pin_name: string | null = null,
): GraphIssue {
  return { severity: 'error', code, message, node_id, pin_name }
}

/** Assigning this name to a plain record would change its prototype, so no handle may have it. */
export const FORBIDDEN = '__proto__'

export const TYPE_KEYS: ReadonlySet<string> = new Set(['type', 'optional', 'values', 'type_args', 'type_name'])

/** Whether an entry of `dynamic_properties` declares a type, rather than being the input's value. */
export function declaresType(entry: unknown): boolean {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return false
  const named = 'type' in entry && typeof entry.type === 'string' && isTypeName(entry.type)
  return named && Object.keys(entry).every((key) => TYPE_KEYS.has(key))
}

function dynamicInputs(node: GraphNode, type: NodeType, info: TypeInfo): Map<string, TypeMetadata> {
  const names = type.supports_dynamic_inputs ? Object.entries(node.dynamic_properties ?? {}) : []
  const inputs = new Map<string, TypeMetadata>()
  for (const [name, entry] of names) {
    if (name === FORBIDDEN || info.properties.has(name)) continue
    inputs.set(name, declaresType(entry) ? readType(entry) : ANY)
  }
  return inputs
}

/** Whether an entry of `dynamic_outputs` declares a stream output. */
function opensStream(entry: unknown, type: NodeType): boolean {
  if (!type.supports_dynamic_streams || typeof entry !== 'object' || entry === null) return false
  return 'stream' in entry && entry.stream === true
}

function outputsOf(node: GraphNode, type: NodeType, info: TypeInfo): ReadonlyMap<string, PlanNodeOutput> {
  if (type.role === 'input' && node.data?.stream === true) {
    return new Map([...info.outputs].map(([name, output]) => [name, { ...output, stream: true }]))
  }
  const dynamic = type.supports_dynamic_outputs ? Object.entries(node.dynamic_outputs ?? {}) : []
  if (dynamic.length === 0) return info.outputs
  const outputs = new Map(info.outputs)
  for (const [name, entry] of dynamic) {
    if (name === FORBIDDEN || outputs.has(name)) continue
    outputs.set(name, { type: readType(entry), stream: opensStream(entry, type) })
  }
  return outputs
}

function resolveNodes(graph: Graph, registry: NodeRegistry, issues: GraphIssue[]) {
  const nodes: DraftNode[] = []
  const byId = new Map<string, DraftNode | null>()
  const unknown = new Map<string, string>()
  const hints = new Hints()
  for (const node of graph.nodes) {
    if (byId.has(node.id)) {
      issues.push(issue('duplicate_id', `Two nodes have the id "${node.id}".`, node.id))
      continue
    }
    const type = registry.get(node.type)
    if (!type) {
      if (!unknown.has(node.type)) {
        unknown.set(node.type, hints.forType(node.type, registry.all()))
      }
      const text = `There is no node type "${node.type}".${unknown.get(node.type)}`
      issues.push(issue('unknown_node', text, node.id))
      byId.set(node.id, null)
      continue
    }
    const info = typeInfo(type)
    const draft: DraftNode = {
      index: nodes.length,
      id: node.id,
      node,
      data: node.data ?? {},
      type,
      info,
      dynamic: dynamicInputs(node, type, info),
      outputs: outputsOf(node, type, info),
      incoming: [],
      outgoing: [],
      meant: new Set(),
    }
    nodes.push(draft)
    byId.set(node.id, draft)
  }
  return { nodes, byId }
}

/** Each is null where it doesn't exist (reported) or has no known type (reported with the node). */
interface Ends {
  source: DraftNode | null
  target: DraftNode | null
}

interface Report {
  readonly issues: GraphIssue[]
  readonly hints: Hints
  readonly conversions: Conversions
}

function endsOf(edge: GraphEdge, byId: Map<string, DraftNode | null>, issues: GraphIssue[]): Ends {
  for (const end of ['source', 'target'] as const) {
    if (byId.has(edge[end])) continue
    const other = end === 'source' ? edge.target : edge.source
    const pin = (end === 'source' ? edge.targetHandle : edge.sourceHandle) ?? null
    const text = `An edge ${end === 'source' ? `into "${other}" starts` : `from "${other}" ends`} at "${edge[end]}", which is no node.`
    issues.push(issue('dangling_edge', text, byId.has(other) ? other : null, pin))
  }
  return { source: byId.get(edge.source) ?? null, target: byId.get(edge.target) ?? null }
}

function sourceOutput(edge: GraphEdge, source: DraftNode, { issues, hints }: Report): PlanNodeOutput | null {
  const handle = edge.sourceHandle ?? ''
  const output = source.outputs.get(handle)
  if (output) return output
  issues.push(issue('unknown_handle', noOutput(handle, source, hints), source.id, handle))
  return null
}

function targetInput(edge: GraphEdge, target: DraftNode, { issues, hints }: Report): TypeMetadata | null {
  const handle = edge.targetHandle ?? ''
  const property = target.info.properties.get(handle)
  // The names and switches of input and output nodes belong to the graph's interface, which is fixed before a run.
  const fixed = target.type.role === 'input' || (target.type.role === 'output' && handle === 'name')
  if (property && !fixed) return property.type
  const dynamic = target.dynamic.get(handle)
  if (dynamic) return dynamic
  if (target.type.supports_dynamic_inputs && handle !== '' && handle !== FORBIDDEN) {
    target.dynamic.set(handle, ANY)
    return ANY
  }
  const text = fixed
    ? `Input "${handle}" of node "${target.id}" (${target.type.node_type}) is fixed before a run and takes no edge.`
    : noInput(handle, target, hints)
  issues.push(issue('unknown_handle', text, target.id, handle))
  return null
}

/** An edge that carries values; null where an end or a handle is bad. The handle of a good end is judged all the same. */
function dataEdge(edge: GraphEdge, { source, target }: Ends, id: string, report: Report): DraftEdge | null {
  const output = source && sourceOutput(edge, source, report)
  const targetType = target && targetInput(edge, target, report)
  if (!source || !target || !output || !targetType) return null
  const input = edge.targetHandle ?? ''
  const handle = edge.sourceHandle ?? ''
  const feedback = target.info.properties.get(input)?.feedback === true
  const draft: DraftEdge = { id, source, target, handle, input, sourceType: output.type, targetType, feedback }
  if (!fits(output.type, targetType)) {
    const text = `${mismatch(draft)}${report.conversions.hint(output.type, targetType)}`
    report.issues.push(issue('type_mismatch', text, target.id, input))
  }
  return draft
}

function controlEdge(edge: GraphEdge, { source, target }: Ends, id: string): DraftEdge | null {
  if (!source || !target) return null
  const handle = source.outputs.has(edge.sourceHandle ?? '') ? (edge.sourceHandle ?? null) : null
  return { id, source, target, handle, input: null, sourceType: ANY, targetType: ANY, feedback: false }
}

function resolveEdges(graph: Graph, byId: Map<string, DraftNode | null>, report: Report): void {
  const { issues } = report
  const ids = new Set<string>()
  const fed = new Map<DraftNode, Set<string>>()
  for (const edge of graph.edges) {
    const ends = endsOf(edge, byId, issues)
    const id = edge.id ?? `${edge.source}:${edge.sourceHandle ?? ''}->${edge.target}:${edge.targetHandle ?? ''}`
    if (edge.id && ids.has(edge.id)) {
      issues.push(
        issue('duplicate_id', `Two edges have the id "${edge.id}".`, byId.has(edge.target) ? edge.target : null),
      )
    }
    ids.add(id)
    byId.get(edge.target)?.meant.add(edge.targetHandle ?? '')
    const control = edge.edge_type === 'control'
    const draft = control ? controlEdge(edge, ends, id) : dataEdge(edge, ends, id, report)
    if (!draft) continue
    const place = draft.input === null ? `${draft.source.index} ${draft.handle ?? ''}` : `= ${draft.input}`
    const places = fed.get(draft.target) ?? new Set()
    fed.set(draft.target, places)
    if (places.has(place)) {
      const text =
        draft.input === null ? 'the same control edge twice' : `more than one edge into input "${draft.input}"`
      issues.push(issue('fan_in', `Node "${draft.target.id}" has ${text}.`, draft.target.id, draft.input))
      continue
    }
    places.add(place)
    draft.source.outgoing.push(draft)
    draft.target.incoming.push(draft)
  }
}

/** The nodes of known type with the edges between them, and all issues found on the way. */
export function draftGraph(graph: Graph, registry: NodeRegistry): Draft {
  const issues: GraphIssue[] = []
  const { nodes, byId } = resolveNodes(graph, registry, issues)
  resolveEdges(graph, byId, { issues, hints: new Hints(), conversions: new Conversions(registry) })
  return { nodes, issues }
}
