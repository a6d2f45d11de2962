// Third pass: in which streams each node fires. A scope is the chain of nodes that opened the streams around a value.
import { forEachStep, type Steps } from '../time-slices.ts'
import { type DraftEdge, type DraftNode, issue } from './draft.ts'
import type { Issues } from './issues.ts'

export interface Scope {
  readonly opener: DraftNode
  readonly parent: Scope | null
  readonly depth: number
}

export interface NodeScope {
  /** Where the node fires; null is the outermost scope. */
  readonly fires: Scope | null
  /** Where the items of its stream outputs lie. */
  readonly opens: Scope | null
}

/** Streams nested deeper than this are a mistake or an attack. */
const DEEPEST = 64

export function depthOf(scope: Scope | null): number {
  return scope === null ? 0 : scope.depth
}

function encloses(outer: Scope | null, inner: Scope | null): boolean {
  const depth = depthOf(outer)
  let at = inner
  while (at !== null && at.depth > depth) at = at.parent
  return at === outer
}

/** The scope of the value that an edge carries. */
export function edgeScope(edge: DraftEdge, scopes: readonly (NodeScope | undefined)[]): Scope | null {
  const from = scopes[edge.source.index]
  if (!from) return null
  const stream = edge.handle !== null && edge.source.outputs.get(edge.handle)?.stream === true
  return stream ? from.opens : from.fires
}

function describe(scope: Scope | null): string {
  return scope === null ? 'outside of all streams' : `inside the stream of node "${scope.opener.id}"`
}

function pinOf(edge: DraftEdge): string {
  return edge.input === null ? `the control edge from "${edge.source.id}"` : `input "${edge.input}"`
}

interface Found {
  scope: Scope | null
  edge: DraftEdge | null
}

function longest(node: DraftNode, edges: DraftEdge[], scopes: NodeScope[], issues: Issues): Found {
  let found: Found = { scope: null, edge: null }
  for (const edge of edges) {
    const scope = edgeScope(edge, scopes)
    if (depthOf(scope) > depthOf(found.scope)) found = { scope, edge }
  }
  for (const edge of edges) {
    const scope = edgeScope(edge, scopes)
    if (!found.edge || encloses(scope, found.scope)) continue
    const text = `Node "${node.id}" joins unrelated streams: ${pinOf(edge)} lies ${describe(scope)}, ${pinOf(found.edge)} ${describe(found.scope)}. Join them with control.Zip (item by item) or control.Cross (each with each) first.`
    issues.push(issue('incomparable_scopes', text, node.id, edge.input))
  }
  return found
}

/** The scope around the streams that a node takes whole; null as well where they don't lie side by side. */
function streamsScope(node: DraftNode, streams: readonly DraftEdge[], scopes: NodeScope[], issues: Issues) {
  let around: { scope: Scope | null; edge: DraftEdge } | null = null
  for (const edge of streams) {
    const stream = edgeScope(edge, scopes)
    if (stream === null) {
      const text = `Input "${edge.input}" of node "${node.id}" takes a whole stream, but "${edge.source.id}" gives a single value. Open a stream with control.ForEach first.`
      issues.push(issue('incomparable_scopes', text, node.id, edge.input))
    } else if (around === null) around = { scope: stream.parent, edge }
    else if (around.scope !== stream.parent) {
      const text = `The streams of node "${node.id}" don't lie side by side: that of input "${edge.input}" begins ${describe(stream.parent)}, that of input "${around.edge.input}" ${describe(around.scope)}.`
      issues.push(issue('incomparable_scopes', text, node.id, edge.input))
    }
  }
  return around?.scope ?? null
}

function wholeStreams(node: DraftNode): DraftEdge[] {
  const { aggregates } = node.info
  return aggregates.size === 0 ? [] : node.incoming.filter((edge) => edge.input !== null && aggregates.has(edge.input))
}

function firingScope(node: DraftNode, scopes: NodeScope[], issues: Issues): Scope | null {
  const streams = wholeStreams(node)
  if (streams.length === 0) {
    const edges = node.type.loop ? node.incoming.filter((edge) => !edge.feedback) : node.incoming
    return longest(node, edges, scopes, issues).scope
  }
  const rest = node.incoming.filter((edge) => !streams.includes(edge))
  const others = longest(node, rest, scopes, issues)
  const around = streamsScope(node, streams, scopes, issues)
  if (!encloses(others.scope, around)) {
    const text = `Node "${node.id}" fires ${describe(around)}, where its stream ends, but ${others.edge ? pinOf(others.edge) : 'an input'} lies ${describe(others.scope)}.`
    issues.push(issue('incomparable_scopes', text, node.id, others.edge?.input ?? null))
  }
  return around
}

/** What a round gives back must be one value for each round of that very loop. */
function checkFeedback(node: DraftNode, scopes: readonly NodeScope[], issues: Issues): void {
  const own = scopes[node.index]?.opens ?? null
  for (const edge of node.incoming) {
    if (!edge.feedback) continue
    const scope = edgeScope(edge, scopes)
    if (scope === own) continue
    const inside = encloses(own, scope)
    const text = inside
      ? `Input "${edge.input}" of loop "${node.id}" takes one value a round, but "${edge.source.id}" lies ${describe(scope)}. Gather that stream with control.Collect or control.Last first.`
      : `Input "${edge.input}" of loop "${node.id}" takes what a round gives, but "${edge.source.id}" lies ${describe(scope)}. Make it from the loop's "value".`
    issues.push(issue('incomparable_scopes', text, node.id, edge.input))
  }
}

function opensStream(node: DraftNode): boolean {
  if (node.info.streaming || (node.type.role === 'input' && node.data.stream === true)) return true
  return node.type.supports_dynamic_streams === true && [...node.outputs.values()].some((output) => output.stream)
}

/** The scopes of all nodes, by index; nodes that are not in `ordered` have none. */
export function* scopeNodes(ordered: readonly DraftNode[], issues: Issues): Steps<NodeScope[]> {
  const scopes: NodeScope[] = []
  yield* forEachStep(ordered, (node) => {
    const fires = firingScope(node, scopes, issues)
    let opens = fires
    if (fires && node.type.role === 'input' && node.data.stream === true) {
      const text = `Streamed input "${node.id}" has one stream for the whole run and can't be started by each item of another.`
      issues.push(issue('incomparable_scopes', text, node.id))
    }
    if (opensStream(node)) {
      opens = { opener: node, parent: fires, depth: depthOf(fires) + 1 }
      if (opens.depth > DEEPEST) {
        issues.push(issue('incomparable_scopes', `Streams are nested more than ${DEEPEST} deep here.`, node.id))
        opens = fires
      }
    }
    scopes[node.index] = { fires, opens }
  })
  yield* forEachStep(ordered, (node) => {
    if (node.type.loop) checkFeedback(node, scopes, issues)
  })
  return scopes
}
