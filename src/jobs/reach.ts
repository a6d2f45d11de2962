// Which firings of a run lie behind others in its graph, so that they may come out differently where those do.
import type { Plan } from '../engine/plan.ts'
import type { FiringName } from './firing-names.ts'

type Place = Pick<FiringName, 'node_id' | 'path'>

/** By node: how many of the first indices of its paths stand for the same streams as those of the origin that it is reached from. */
type Behind = ReadonlyMap<number, number>

export class Reach {
  readonly #plan: Plan
  readonly #behind = new Map<number, Behind>()
  /** By node, and by how many indices count, the beginnings of the paths that are reached. */
  readonly #reached = new Map<number, Map<number, Set<string>>>()

  constructor(plan: Plan) {
    this.#plan = plan
  }

  /** Adds all firings behind one. */
  add({ node_id, path }: Place): void {
    const index = this.#plan.indexById.get(node_id)
    if (index === undefined) return
    for (const [node, shared] of this.#behindOf(index)) {
      const byShared = this.#reached.get(node) ?? new Map<number, Set<string>>()
      this.#reached.set(node, byShared)
      byShared.set(shared, (byShared.get(shared) ?? new Set()).add(beginning(path, shared)))
    }
  }

  has({ node_id, path }: Place): boolean {
    const byShared = this.#reached.get(this.#plan.indexById.get(node_id) ?? -1)
    return byShared !== undefined && [...byShared].some(([shared, paths]) => paths.has(beginning(path, shared)))
  }

  /** Whether something that is reached may lie behind this one as well. */
  meets({ node_id, path }: Place): boolean {
    const index = this.#plan.indexById.get(node_id)
    if (index === undefined) return false
    return [...this.#behindOf(index)].some(([node, shared]) =>
      [...(this.#reached.get(node) ?? [])].some(([length, paths]) => {
        const both = Math.min(shared, length)
        return [...paths].some((one) => beginning(one, both) === beginning(path, both))
      }),
    )
  }

  #behindOf(index: number): Behind {
    const known = this.#behind.get(index) ?? behindOf(this.#plan, index)
    this.#behind.set(index, known)
    return known
  }
}

/**
 * A node fires within the streams of its inputs, or of the first ones of these, so that along an edge paths agree as far as both reach. Where
 * several ways lead to a node, the one on which the least is shared counts.
 */
function behindOf({ nodes }: Plan, origin: number): Behind {
  const behind = new Map<number, number>()
  const found: [node: number, shared: number][] = [[origin, nodes[origin]!.depth]]
  for (let next = found.pop(); next; next = found.pop()) {
    const [source, shared] = next
    for (const { node } of nodes[source]!.ports.flatMap(({ targets }) => targets)) {
      const still = Math.min(shared, nodes[node]!.depth)
      if ((behind.get(node) ?? Number.POSITIVE_INFINITY) <= still) continue
      behind.set(node, still)
      found.push([node, still])
    }
  }
  return behind
}

function beginning(path: string, indices: number): string {
  return indices === 0 ? '' : path.split('.').slice(0, indices).join('.')
}
