// The other half of the first pass: each edge's ends and handles, and whether what it carries fits. What the nodes are, draft.ts says.

import type { Steps } from '../time-slices.ts'
import { Conversions } from './conversions.ts'
import { type Draft, type DraftEdge, type DraftNode, dynamicType, FORBIDDEN, issue, resolveNodes } from './draft.ts'
import type { Graph, GraphEdge } from './graph.ts'
import { Issues } from './issues.ts'
import type { NodeRegistry } from './node-type.ts'
import type { PlanNodeOutput } from './plan-parts.ts'
import { Hints } from './suggest.ts'
import { isFixed, mismatch, noInput, noOutput } from './texts.ts'
import { ANY, type TypeMetadata } from './types.ts'

/** Each is null where it doesn't exist (reported) or has no known type (reported with the node). */
interface Ends {
  source: DraftNode | null
  target: DraftNode | null
}

interface Report {
  readonly issues: Issues
  readonly hints: Hints
  /** For ids of nodes. */
  readonly ids: Hints
  readonly conversions: Conversions
}

function endsOf(edge: GraphEdge, byId: Map<string, DraftNode | null>, { issues, ids }: Report): Ends {
  for (const end of ['source', 'target'] as const) {
    if (byId.has(edge[end])) continue
    const other = end === 'source' ? edge.target : edge.source
    const pin = (end === 'source' ? edge.targetHandle : edge.sourceHandle) ?? null
    const text = `An edge ${end === 'source' ? `into "${other}" starts` : `from "${other}" ends`} at "${edge[end]}", which is no node.${ids.for(edge[end], byId.keys())}`
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
  const fixed = isFixed(target.type, handle)
  if (property && !fixed) return property.type
  const dynamic = target.dynamic.get(handle)
  if (dynamic) return dynamic
  if (target.type.supports_dynamic_inputs && handle !== '' && handle !== FORBIDDEN) {
    const type = dynamicType(target.type, ANY)
    target.dynamic.set(handle, type)
    return type
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
  const hint = report.conversions.judge(output.type, targetType)
  if (hint !== null) report.issues.push(issue('type_mismatch', `${mismatch(draft)}${hint}`, target.id, input))
  return draft
}

function controlEdge(edge: GraphEdge, { source, target }: Ends, id: string): DraftEdge | null {
  if (!source || !target) return null
  const handle = source.outputs.has(edge.sourceHandle ?? '') ? (edge.sourceHandle ?? null) : null
  return { id, source, target, handle, input: null, sourceType: ANY, targetType: ANY, feedback: false }
}

function* resolveEdges(graph: Graph, byId: Map<string, DraftNode | null>, report: Report): Steps<void> {
  const { issues } = report
  const ids = new Set<string>()
  const fed = new Map<DraftNode, Set<string>>()
  // Two types with very many values may take a millisecond or two to compare: each edge is a step.
  for (const edge of graph.edges) {
    yield
    const ends = endsOf(edge, byId, report)
    const id = edge.id ?? `${edge.source}:${edge.sourceHandle ?? ''}->${edge.target}:${edge.targetHandle ?? ''}`
    if (edge.id && ids.has(edge.id)) {
      issues.push(
        issue('duplicate_id', `Two edges have the id "${edge.id}".`, byId.has(edge.target) ? edge.target : null),
      )
    }
    ids.add(id)
    const control = edge.edge_type === 'control'
    if (!control) byId.get(edge.target)?.meant.add(edge.targetHandle ?? '')
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
export function* draftGraph(graph: Graph, registry: NodeRegistry): Steps<Draft> {
  const issues = new Issues()
  const { nodes, byId } = yield* resolveNodes(graph, registry, issues)
  yield* resolveEdges(graph, byId, {
    issues,
    hints: new Hints(),
    ids: new Hints(),
    conversions: new Conversions(registry),
  })
  return { nodes, issues }
}
