// Third pass: the streams in which each node fires. A scope is the chain of nodes that opened the streams around a value.
import { forEachSteps, type Steps } from '../../shared/time-slices.ts'
import { createIssue, type DraftEdge, type DraftNode } from './draft-nodes.ts'
import type { GraphIssueList } from './graph-issues.ts'

export interface StreamScope {
  readonly opener: DraftNode
  readonly parent: StreamScope | null
  readonly depth: number
}

export interface NodeScope {
  /** The scope in which the node fires; null is the outermost scope. */
  readonly fires: StreamScope | null
  /** The scope of the items of its stream outputs. */
  readonly opens: StreamScope | null
}

/** Deeper nesting of streams is a mistake or an attack. */
const MAX_STREAM_DEPTH = 64

export function getScopeDepth(scope: StreamScope | null): number {
  return scope === null ? 0 : scope.depth
}

function encloses(outer: StreamScope | null, inner: StreamScope | null): boolean {
  const depth = getScopeDepth(outer)
  let at = inner
  while (at !== null && at.depth > depth) at = at.parent
  return at === outer
}

/** The scope of the value that an edge carries. */
export function getEdgeScope(edge: DraftEdge, scopes: readonly (NodeScope | undefined)[]): StreamScope | null {
  const from = scopes[edge.source.index]
  if (!from) return null
  const stream = edge.handle !== null && edge.source.outputs.get(edge.handle)?.stream === true
  return stream ? from.opens : from.fires
}

function describeScope(scope: StreamScope | null): string {
  return scope === null ? 'outside of all streams' : `inside the stream of node "${scope.opener.id}"`
}

function describePin(edge: DraftEdge): string {
  return edge.input === null ? `the control edge from "${edge.source.id}"` : `input "${edge.input}"`
}

interface LongestScope {
  scope: StreamScope | null
  edge: DraftEdge | null
}

function findLongestScope(
  node: DraftNode,
  edges: DraftEdge[],
  scopes: NodeScope[],
  issues: GraphIssueList,
): LongestScope {
  let found: LongestScope = { scope: null, edge: null }
  for (const edge of edges) {
    const scope = getEdgeScope(edge, scopes)
    if (getScopeDepth(scope) > getScopeDepth(found.scope)) found = { scope, edge }
  }
  for (const edge of edges) {
    const scope = getEdgeScope(edge, scopes)
    if (!found.edge || encloses(scope, found.scope)) continue
    const text = `Node "${node.id}" joins unrelated streams: ${describePin(edge)} lies ${describeScope(scope)}, ${describePin(found.edge)} ${describeScope(found.scope)}. Join them with control.Zip (item by item) or control.Cross (each with each) first.`
    issues.push(createIssue('incomparable_scopes', text, node.id, edge.input))
  }
  return found
}

/** The scope around the streams that a node reads whole; null if they are not siblings. */
function resolveStreamsScope(
  node: DraftNode,
  streams: readonly DraftEdge[],
  scopes: NodeScope[],
  issues: GraphIssueList,
) {
  let around: { scope: StreamScope | null; edge: DraftEdge } | null = null
  for (const edge of streams) {
    const stream = getEdgeScope(edge, scopes)
    if (stream === null) {
      const text = `Input "${edge.input}" of node "${node.id}" takes a whole stream, but "${edge.source.id}" gives a single value. Open a stream with control.ForEach first.`
      issues.push(createIssue('incomparable_scopes', text, node.id, edge.input))
    } else if (around === null) around = { scope: stream.parent, edge }
    else if (around.scope !== stream.parent) {
      const text = `The streams of node "${node.id}" must begin in the same scope: that of input "${edge.input}" begins ${describeScope(stream.parent)}, that of input "${around.edge.input}" ${describeScope(around.scope)}.`
      issues.push(createIssue('incomparable_scopes', text, node.id, edge.input))
    }
  }
  return around?.scope ?? null
}

function findWholeStreams(node: DraftNode): DraftEdge[] {
  const { aggregates } = node.info
  return aggregates.size === 0 ? [] : node.incoming.filter((edge) => edge.input !== null && aggregates.has(edge.input))
}

function resolveFiringScope(node: DraftNode, scopes: NodeScope[], issues: GraphIssueList): StreamScope | null {
  const streams = findWholeStreams(node)
  if (streams.length === 0) {
    const edges = node.type.loop ? node.incoming.filter((edge) => !edge.feedback) : node.incoming
    return findLongestScope(node, edges, scopes, issues).scope
  }
  const rest = node.incoming.filter((edge) => !streams.includes(edge))
  const others = findLongestScope(node, rest, scopes, issues)
  const around = resolveStreamsScope(node, streams, scopes, issues)
  if (!encloses(others.scope, around)) {
    const text = `Node "${node.id}" fires ${describeScope(around)}, where its stream ends, but ${others.edge ? describePin(others.edge) : 'an input'} lies ${describeScope(others.scope)}.`
    issues.push(createIssue('incomparable_scopes', text, node.id, others.edge?.input ?? null))
  }
  return around
}

/** Feedback must be one value for each round of its loop. */
function validateFeedback(node: DraftNode, scopes: readonly NodeScope[], issues: GraphIssueList): void {
  const own = scopes[node.index]?.opens ?? null
  for (const edge of node.incoming) {
    if (!edge.feedback) continue
    const scope = getEdgeScope(edge, scopes)
    if (scope === own) continue
    const inside = encloses(own, scope)
    const text = inside
      ? `Input "${edge.input}" of loop "${node.id}" takes one value a round, but "${edge.source.id}" lies ${describeScope(scope)}. Gather that stream with control.Collect or control.Last first.`
      : `Input "${edge.input}" of loop "${node.id}" takes one value of each round, but "${edge.source.id}" lies ${describeScope(scope)}. Make it from the loop's "value".`
    issues.push(createIssue('incomparable_scopes', text, node.id, edge.input))
  }
}

function doesOpenStream(node: DraftNode): boolean {
  if (node.info.opensStream || (node.type.role === 'input' && node.data.stream === true)) return true
  return node.type.supports_dynamic_streams === true && [...node.outputs.values()].some((output) => output.stream)
}

/** The scopes of all nodes, by index. Nodes that are not in `ordered` have none. */
export function* resolveScopes(ordered: readonly DraftNode[], issues: GraphIssueList): Steps<NodeScope[]> {
  const scopes: NodeScope[] = []
  yield* forEachSteps(ordered, (node) => {
    const fires = resolveFiringScope(node, scopes, issues)
    let opens = fires
    if (fires && node.type.role === 'input' && node.data.stream === true) {
      const text = `Streamed input "${node.id}" has one stream for the whole run and can't be started by each item of another.`
      issues.push(createIssue('incomparable_scopes', text, node.id))
    }
    if (doesOpenStream(node)) {
      opens = { opener: node, parent: fires, depth: getScopeDepth(fires) + 1 }
      if (opens.depth > MAX_STREAM_DEPTH) {
        issues.push(
          createIssue('incomparable_scopes', `Streams are nested more than ${MAX_STREAM_DEPTH} deep here.`, node.id),
        )
        opens = fires
      }
    }
    scopes[node.index] = { fires, opens }
  })
  yield* forEachSteps(ordered, (node) => {
    if (node.type.loop) validateFeedback(node, scopes, issues)
  })
  return scopes
}
