// Which failures are held: those of nodes from which a path leads to a property that catches.
import { forEachSteps, type Steps } from '../../shared/time-slices.ts'
import type { DraftEdge, DraftNode } from './draft-nodes.ts'

export function isCatchEdge(edge: DraftEdge): boolean {
  return edge.input !== null && edge.target.info.properties.get(edge.input)?.catches === true
}

/** The nodes that have a Catch behind them. */
export function* findNodesBeforeCatch(nodes: readonly DraftNode[]): Steps<ReadonlySet<DraftNode>> {
  const nodesBefore = new Set<DraftNode>()
  yield* forEachSteps(nodes, (node) => {
    if (!node.info.hasCatchProperty) return
    for (const edge of node.incoming) if (isCatchEdge(edge)) nodesBefore.add(edge.source)
  })
  // A set hands out what is added to it while it is read.
  yield* forEachSteps(nodesBefore, (node) => {
    for (const edge of node.incoming) if (!isCatchEdge(edge)) nodesBefore.add(edge.source)
  })
  return nodesBefore
}
