// Fourth pass, only where there are loops: nothing inside a round may wait for the end of its loop.
import { forEachStep, type Steps } from '../time-slices.ts'
import { type DraftEdge, type DraftNode, issue } from './draft.ts'
import type { Issues } from './issues.ts'
import { edgeScope, type NodeScope } from './scopes.ts'

/** A loop stands twice among the places: where it opens its rounds (its index), and where it ends (behind all nodes). */
class Places {
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

  /** The places that lie on a cycle or behind one. */
  *unordered(): Steps<Set<number>> {
    const ready = [...this.#waiting.keys()].filter((place) => this.#waiting[place] === 0)
    const rest = new Set(this.#waiting.keys())
    // A list hands out what is added to it while it is read.
    yield* forEachStep(ready, (place) => {
      rest.delete(place)
      for (const next of this.#after[place]!) if (--this.#waiting[next]! === 0) ready.push(next)
    })
    return rest
  }
}

function isStream(edge: DraftEdge): boolean {
  return edge.handle !== null && edge.source.outputs.get(edge.handle)?.stream === true
}

/** Reports loops whose rounds need what only their end gives. */
export function* checkLoops(nodes: readonly DraftNode[], scopes: readonly NodeScope[], issues: Issues): Steps<void> {
  const loops = nodes.filter((node) => node.type.loop)
  if (loops.length === 0) return
  const end = (node: DraftNode) => nodes.length + node.index
  const places = new Places(nodes.length * 2)
  for (const loop of loops) places.add(loop.index, end(loop))
  const outgoing = nodes.flatMap((node) => node.outgoing)
  yield* forEachStep(outgoing, (edge) => {
    const { source, target, feedback, input } = edge
    const from = source.type.loop && !isStream(edge) ? end(source) : source.index
    places.add(from, feedback ? end(target) : target.index)
    const whole = input !== null && target.info.aggregates.has(input) ? edgeScope(edge, scopes)?.opener : undefined
    if (whole?.type.loop) places.add(end(whole), target.index)
  })
  const stuck = yield* places.unordered()
  for (const loop of loops) {
    if (!stuck.has(end(loop)) || stuck.has(loop.index)) continue
    const text = `A round of loop "${loop.id}" waits for the end of that loop: what it gives back depends on the loop's "result", or on all of its rounds gathered. Use the loop's "value" inside of it.`
    issues.push(issue('illegal_cycle', text, loop.id))
  }
}
