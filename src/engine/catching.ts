// Which failures are held: those of nodes from which a path leads to a property that catches.
import type { DraftEdge, DraftNode } from './draft.ts'

export function catches(edge: DraftEdge): boolean {
  return edge.input !== null && edge.target.info.properties.get(edge.input)?.catches === true
}

/** The nodes that have a Catch behind them. */
export function nodesBeforeCatch(nodes: readonly DraftNode[]): ReadonlySet<DraftNode> {
  const found = new Set<DraftNode>()
  for (const node of nodes) {
    if (!node.info.catching) continue
    for (const edge of node.incoming) if (catches(edge)) found.add(edge.source)
  }
  // A set hands out what is added to it while it is read.
  for (const node of found) for (const edge of node.incoming) if (!catches(edge)) found.add(edge.source)
  return found
}
