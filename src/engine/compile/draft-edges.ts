// Second half of the first pass: resolves the ends and handles of each edge and checks its types. draft-nodes.ts resolves the nodes.

import type { Steps } from '../../shared/time-slices.ts'
import { NameSuggestions } from '../node-api/did-you-mean.ts'
import type { NodeRegistry } from '../node-api/node-type.ts'
import { ANY_TYPE, type TypeMetadata } from '../node-api/values/type-metadata.ts'
import { ConversionHints } from './conversion-hints.ts'
import {
  createIssue,
  type DraftEdge,
  type DraftNode,
  FORBIDDEN_HANDLE,
  type GraphDraft,
  resolveDynamicType,
  resolveNodes,
} from './draft-nodes.ts'
import type { Graph, GraphEdge } from './graph.ts'
import { GraphIssueList } from './graph-issues.ts'
import { describeTypeMismatch, describeUnknownInput, describeUnknownOutput, isFixedProperty } from './issue-messages.ts'
import type { PlanNodeOutput } from './plan.ts'

/** An end is null if the node does not exist (reported) or has an unknown type (reported with the node). */
interface EdgeEnds {
  source: DraftNode | null
  target: DraftNode | null
}

interface DraftReport {
  readonly issues: GraphIssueList
  readonly hints: NameSuggestions
  /** Suggestions for node ids. */
  readonly ids: NameSuggestions
  readonly conversions: ConversionHints
}

function resolveEnds(edge: GraphEdge, byId: Map<string, DraftNode | null>, { issues, ids }: DraftReport): EdgeEnds {
  for (const end of ['source', 'target'] as const) {
    if (byId.has(edge[end])) continue
    const other = end === 'source' ? edge.target : edge.source
    const pin = (end === 'source' ? edge.targetHandle : edge.sourceHandle) ?? null
    const text = `An edge ${end === 'source' ? `into "${other}" starts` : `from "${other}" ends`} at "${edge[end]}", which is no node.${ids.suggest(edge[end], byId.keys())}`
    issues.push(createIssue('dangling_edge', text, byId.has(other) ? other : null, pin))
  }
  return { source: byId.get(edge.source) ?? null, target: byId.get(edge.target) ?? null }
}

function resolveSourceOutput(
  edge: GraphEdge,
  source: DraftNode,
  { issues, hints }: DraftReport,
): PlanNodeOutput | null {
  const handle = edge.sourceHandle ?? ''
  const output = source.outputs.get(handle)
  if (output) return output
  issues.push(createIssue('unknown_handle', describeUnknownOutput(handle, source, hints), source.id, handle))
  return null
}

function resolveTargetInput(edge: GraphEdge, target: DraftNode, { issues, hints }: DraftReport): TypeMetadata | null {
  const handle = edge.targetHandle ?? ''
  const property = target.info.properties.get(handle)
  const fixed = isFixedProperty(target.type, handle)
  if (property && !fixed) return property.type
  const dynamic = target.dynamic.get(handle)
  if (dynamic) return dynamic
  if (target.type.supports_dynamic_inputs && handle !== '' && handle !== FORBIDDEN_HANDLE) {
    const type = resolveDynamicType(target.type, ANY_TYPE)
    target.dynamic.set(handle, type)
    return type
  }
  const text = fixed
    ? `Input "${handle}" of node "${target.id}" (${target.type.node_type}) is fixed before a run and takes no edge.`
    : describeUnknownInput(handle, target, hints)
  issues.push(createIssue('unknown_handle', text, target.id, handle))
  return null
}

/** Resolves a data edge; null if an end or a handle is invalid. If only one end is invalid, the handle of the other is still checked. */
function draftDataEdge(
  edge: GraphEdge,
  { source, target }: EdgeEnds,
  id: string,
  report: DraftReport,
): DraftEdge | null {
  const output = source && resolveSourceOutput(edge, source, report)
  const targetType = target && resolveTargetInput(edge, target, report)
  if (!source || !target || !output || !targetType) return null
  const input = edge.targetHandle ?? ''
  const handle = edge.sourceHandle ?? ''
  const feedback = target.info.properties.get(input)?.feedback === true
  const draft: DraftEdge = { id, source, target, handle, input, sourceType: output.type, targetType, feedback }
  const hint = report.conversions.findMismatchHint(output.type, targetType)
  if (hint !== null)
    report.issues.push(createIssue('type_mismatch', `${describeTypeMismatch(draft)}${hint}`, target.id, input))
  return draft
}

function draftControlEdge(edge: GraphEdge, { source, target }: EdgeEnds, id: string): DraftEdge | null {
  if (!source || !target) return null
  const handle = source.outputs.has(edge.sourceHandle ?? '') ? (edge.sourceHandle ?? null) : null
  return { id, source, target, handle, input: null, sourceType: ANY_TYPE, targetType: ANY_TYPE, feedback: false }
}

function* draftEdges(graph: Graph, byId: Map<string, DraftNode | null>, report: DraftReport): Steps<void> {
  const { issues } = report
  const ids = new Set<string>()
  const inputsByTarget = new Map<DraftNode, Set<string>>()
  // Comparing two types with very many values may take a millisecond or two: each edge is a step.
  for (const edge of graph.edges) {
    yield
    const ends = resolveEnds(edge, byId, report)
    const id = edge.id ?? `${edge.source}:${edge.sourceHandle ?? ''}->${edge.target}:${edge.targetHandle ?? ''}`
    if (edge.id && ids.has(edge.id)) {
      issues.push(
        createIssue('duplicate_id', `Two edges have the id "${edge.id}".`, byId.has(edge.target) ? edge.target : null),
      )
    }
    ids.add(id)
    const control = edge.edge_type === 'control'
    if (!control) byId.get(edge.target)?.targetedInputs.add(edge.targetHandle ?? '')
    const draft = control ? draftControlEdge(edge, ends, id) : draftDataEdge(edge, ends, id, report)
    if (!draft) continue
    const inputKey = draft.input === null ? `${draft.source.index} ${draft.handle ?? ''}` : `= ${draft.input}`
    const inputKeys = inputsByTarget.get(draft.target) ?? new Set()
    inputsByTarget.set(draft.target, inputKeys)
    if (inputKeys.has(inputKey)) {
      const text =
        draft.input === null ? 'the same control edge twice' : `more than one edge into input "${draft.input}"`
      issues.push(createIssue('fan_in', `Node "${draft.target.id}" has ${text}.`, draft.target.id, draft.input))
      continue
    }
    inputKeys.add(inputKey)
    draft.source.outgoing.push(draft)
    draft.target.incoming.push(draft)
  }
}

/** The nodes of known type, the edges between them, and all issues found so far. */
export function* draftGraph(graph: Graph, registry: NodeRegistry): Steps<GraphDraft> {
  const issues = new GraphIssueList()
  const { nodes, byId } = yield* resolveNodes(graph, registry, issues)
  yield* draftEdges(graph, byId, {
    issues,
    hints: new NameSuggestions(),
    ids: new NameSuggestions(),
    conversions: new ConversionHints(registry),
  })
  return { nodes, issues }
}
