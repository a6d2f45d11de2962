// Finds the nodes whose failures are kept: those from which a path leads to a property that catches failures.
import { forEachSteps, type Steps } from '../../shared/time-slices.ts'
import type { DraftEdge, DraftNode } from './draft-nodes.ts'

export function isCatchEdge(edge: DraftEdge): boolean {
  return edge.input !== null && edge.target.info.properties.get(edge.input)?.catches === true
}

/** The nodes upstream of a Catch. */
export function* findNodesBeforeCatch(nodes: readonly DraftNode[]): Steps<ReadonlySet<DraftNode>> {
  const nodesBefore = new Set<DraftNode>()
  yield* forEachSteps(nodes, (node) => {
    if (!node.info.hasCatchProperty) return
    for (const edge of node.incoming) if (isCatchEdge(edge)) nodesBefore.add(edge.source)
  })
  // Iterating a set also visits members that are added meanwhile.
  yield* forEachSteps(nodesBefore, (node) => {
    for (const edge of node.incoming) if (!isCatchEdge(edge)) nodesBefore.add(edge.source)
  })
  return nodesBefore
}
