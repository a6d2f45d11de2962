// Fourth pass, only for graphs with loops: checks that no node inside a round waits for the end of its loop.
import { forEachSteps, type Steps } from '../../shared/time-slices.ts'
import { createIssue, type DraftEdge, type DraftNode } from './draft-nodes.ts'
import type { GraphIssueList } from './graph-issues.ts'
import { getEdgeScope, type NodeScope } from './stream-scopes.ts'

/** An order in which each loop has two positions: the start of its rounds (its index) and its end (after all nodes). */
class LoopOrder {
  readonly #after: number[][]
  readonly #waiting: number[]

  constructor(count: number) {
    this.#after = Array.from({ length: count }, () => [])
    this.#waiting = new Array<number>(count).fill(0)
  }

  add(from: number, to: number): void {
    this.#after[from]!.push(to)
    this.#waiting[to]!++
  }

  /** The positions that lie on a cycle or behind one. */
  *findUnordered(): Steps<Set<number>> {
    const ready = [...this.#waiting.keys()].filter((place) => this.#waiting[place] === 0)
    const rest = new Set(this.#waiting.keys())
    // Iterating a list also visits entries that are added meanwhile.
    yield* forEachSteps(ready, (place) => {
      rest.delete(place)
      for (const next of this.#after[place]!) if (--this.#waiting[next]! === 0) ready.push(next)
    })
    return rest
  }
}

function isStreamEdge(edge: DraftEdge): boolean {
  return edge.handle !== null && edge.source.outputs.get(edge.handle)?.stream === true
}

/** Reports loops whose rounds depend on the end of the loop. */
export function* validateLoops(
  nodes: readonly DraftNode[],
  scopes: readonly NodeScope[],
  issues: GraphIssueList,
): Steps<void> {
  const loops = nodes.filter((node) => node.type.loop)
  if (loops.length === 0) return
  const end = (node: DraftNode) => nodes.length + node.index
  const loopOrder = new LoopOrder(nodes.length * 2)
  for (const loop of loops) loopOrder.add(loop.index, end(loop))
  const outgoing = nodes.flatMap((node) => node.outgoing)
  yield* forEachSteps(outgoing, (edge) => {
    const { source, target, feedback, input } = edge
    const from = source.type.loop && !isStreamEdge(edge) ? end(source) : source.index
    loopOrder.add(from, feedback ? end(target) : target.index)
    const whole = input !== null && target.info.aggregates.has(input) ? getEdgeScope(edge, scopes)?.opener : undefined
    if (whole?.type.loop) loopOrder.add(end(whole), target.index)
  })
  const unordered = yield* loopOrder.findUnordered()
  for (const loop of loops) {
    if (!unordered.has(end(loop)) || unordered.has(loop.index)) continue
    const text = `A round of loop "${loop.id}" waits for the end of that loop: its feedback depends on the loop's "result", or on values gathered from all rounds. Use the loop's "value" inside the loop.`
    issues.push(createIssue('illegal_cycle', text, loop.id))
  }
}
