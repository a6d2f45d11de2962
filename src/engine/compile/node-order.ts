// Second pass: an order in which every node comes after its sources, or the cycles that prevent it. The feedback edges of loops are
// ignored.
import { forEachSteps, mapSteps, type Steps } from '../../shared/time-slices.ts'
import { createIssue, type DraftNode } from './draft-nodes.ts'
import type { GraphIssueList } from './graph-issues.ts'

/** Follows sources within `rest` until a node repeats. Returns the cycle, or an empty list if the walk meets an older one. */
function findCycle(start: DraftNode, rest: ReadonlySet<DraftNode>, seen: Set<DraftNode>): DraftNode[] {
  const path: DraftNode[] = []
  const place = new Map<DraftNode, number>()
  let at: DraftNode | undefined = start
  while (at && !seen.has(at)) {
    seen.add(at)
    place.set(at, path.length)
    path.push(at)
    at = at.incoming.find((edge) => !edge.feedback && rest.has(edge.source))?.source
  }
  const from = at ? place.get(at) : undefined
  return from === undefined ? [] : path.slice(from).reverse()
}

function* reportCycles(rest: ReadonlySet<DraftNode>, issues: GraphIssueList): Steps<void> {
  const seen = new Set<DraftNode>()
  yield* forEachSteps(rest, (start) => {
    const cycle = findCycle(start, rest, seen)
    const first = cycle[0]
    if (!first) return
    const shown = cycle.slice(0, 8).map((node) => `"${node.id}"`)
    const path = [...shown, ...(cycle.length > shown.length ? ['…'] : []), `"${first.id}"`].join(' → ')
    const text =
      cycle.length === 1 ? `Node "${first.id}" waits for itself.` : `These nodes wait for each other: ${path}.`
    issues.push(createIssue('illegal_cycle', text, first.id))
  })
}

function countSources({ incoming, type }: DraftNode): number {
  return type.loop ? incoming.filter((edge) => !edge.feedback).length : incoming.length
}

const NODES_PER_STEP = 64

/** All nodes that lie neither on a cycle nor behind one, sources first. */
export function* orderNodes(nodes: readonly DraftNode[], issues: GraphIssueList): Steps<DraftNode[]> {
  const waiting = yield* mapSteps(nodes, countSources)
  const ordered = nodes.filter((node) => waiting[node.index] === 0)
  // Iterating a list also visits entries that are added meanwhile.
  for (const [at, node] of ordered.entries()) {
    if (at % NODES_PER_STEP === 0) yield
    yield* forEachSteps(node.outgoing, (edge) => {
      if (!edge.feedback && --waiting[edge.target.index]! === 0) ordered.push(edge.target)
    })
  }
  if (ordered.length < nodes.length) {
    yield* reportCycles(new Set(nodes.filter((node) => waiting[node.index]! > 0)), issues)
  }
  return ordered
}
