// Which failures are held: those of nodes from which a path leads to a property that catches.
import { forEachStep, type Steps } from '../time-slices.ts'
import type { DraftEdge, DraftNode } from './draft.ts'

export function catches(edge: DraftEdge): boolean {
  return edge.input !== null && edge.target.info.properties.get(edge.input)?.catches === true
}

/** The nodes that have a Catch behind them. */
export function* nodesBeforeCatch(nodes: readonly DraftNode[]): Steps<ReadonlySet<DraftNode>> {
  const found = new Set<DraftNode>()
  yield* forEachStep(nodes, (node) => {
    if (!node.info.catching) return
    for (const edge of node.incoming) if (catches(edge)) found.add(edge.source)
  })
  // A set hands out what is added to it while it is read.
  yield* forEachStep(found, (node) => {
    for (const edge of node.incoming) if (!catches(edge)) found.add(edge.source)
  })
  return found
}
