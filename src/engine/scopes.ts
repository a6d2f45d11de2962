// Third pass: in which streams each node fires. A scope is the chain of nodes that opened the streams around a value.
import { type DraftEdge, type DraftNode, issue } from './draft.ts'
import type { GraphIssue } from './graph.ts'

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

function longest(node: DraftNode, edges: DraftEdge[], scopes: NodeScope[], issues: GraphIssue[]): Found {
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

function aggregateScope(node: DraftNode, edge: DraftEdge, others: Found, scopes: NodeScope[], issues: GraphIssue[]) {
  const stream = edgeScope(edge, scopes)
  if (stream === null) {
    const text = `Input "${edge.input}" of node "${node.id}" takes a whole stream, but "${edge.source.id}" gives a single value. Open a stream with control.ForEach first.`
    issues.push(issue('incomparable_scopes', text, node.id, edge.input))
    return null
  }
  if (!encloses(others.scope, stream.parent)) {
    const text = `Node "${node.id}" fires ${describe(stream.parent)}, where its stream ends, but ${others.edge ? pinOf(others.edge) : 'an input'} lies ${describe(others.scope)}.`
    issues.push(issue('incomparable_scopes', text, node.id, others.edge?.input ?? null))
  }
  return stream.parent
}

function firingScope(node: DraftNode, scopes: NodeScope[], issues: GraphIssue[]): Scope | null {
  const { aggregate } = node.info
  const streamed = aggregate === null ? undefined : node.incoming.find((edge) => edge.input === aggregate)
  if (!streamed) return longest(node, node.incoming, scopes, issues).scope
  const others = longest(
    node,
    node.incoming.filter((edge) => edge !== streamed),
    scopes,
    issues,
  )
  return aggregateScope(node, streamed, others, scopes, issues)
}

/** The scopes of all nodes, by index; nodes that are not in `ordered` have none. */
export function scopeNodes(ordered: readonly DraftNode[], issues: GraphIssue[]): NodeScope[] {
  const scopes: NodeScope[] = []
  for (const node of ordered) {
    const fires = firingScope(node, scopes, issues)
    let opens = fires
    if (fires && node.type.role === 'input' && node.data.stream === true) {
      const text = `Streamed input "${node.id}" has one stream for the whole run and can't be started by each item of another.`
      issues.push(issue('incomparable_scopes', text, node.id))
    }
    if (node.info.streaming || (node.type.role === 'input' && node.data.stream === true)) {
      opens = { opener: node, parent: fires, depth: depthOf(fires) + 1 }
      if (opens.depth > DEEPEST) {
        issues.push(issue('incomparable_scopes', `Streams are nested more than ${DEEPEST} deep here.`, node.id))
        opens = fires
      }
    }
    scopes[node.index] = { fires, opens }
  }
  return scopes
}
