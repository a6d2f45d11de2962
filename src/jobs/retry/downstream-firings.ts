// Finds the firings that are downstream of others in the graph of a run, and so may come out differently when those do.
import type { Plan } from '../../engine/compile/compiler.ts'
import type { FiringName } from '../journal/run-journal.ts'

type FiringPosition = Pick<FiringName, 'node_id' | 'path'>

/** By node, how many of the first indices of its paths stand for the same streams as those of the origin. */
type SharedDepths = ReadonlyMap<number, number>

export class DownstreamFirings {
  readonly #plan: Plan
  readonly #downstreamByNode = new Map<number, SharedDepths>()
  /** By node and number of significant indices, the prefixes of the paths that are reached. */
  readonly #reached = new Map<number, Map<number, Set<string>>>()
  /** The same with all shorter prefixes, so that no lookup scans all paths. */
  readonly #reachedPrefixes = new Map<number, Map<number, Set<string>>>()

  constructor(plan: Plan) {
    this.#plan = plan
  }

  /** Adds all firings downstream of a firing. */
  add({ node_id, path }: FiringPosition): void {
    const index = this.#plan.indexById.get(node_id)
    if (index === undefined) return
    for (const [node, shared] of this.#downstreamOf(index)) {
      addPath(this.#reached, node, shared, pathPrefix(path, shared))
      for (let length = shared; length >= 0; length--)
        addPath(this.#reachedPrefixes, node, length, pathPrefix(path, length))
    }
  }

  has({ node_id, path }: FiringPosition): boolean {
    const byShared = this.#reached.get(this.#plan.indexById.get(node_id) ?? -1)
    return byShared !== undefined && [...byShared].some(([shared, paths]) => paths.has(pathPrefix(path, shared)))
  }

  /** Whether a reached firing may also be downstream of this firing. */
  mayOverlap({ node_id, path }: FiringPosition): boolean {
    const index = this.#plan.indexById.get(node_id)
    if (index === undefined) return false
    for (const [node, shared] of this.#downstreamOf(index)) {
      if (this.#reachedPrefixes.get(node)?.get(shared)?.has(pathPrefix(path, shared))) return true
      for (const [length, paths] of this.#reached.get(node) ?? [])
        if (length < shared && paths.has(pathPrefix(path, length))) return true
    }
    return false
  }

  #downstreamOf(index: number): SharedDepths {
    const known = this.#downstreamByNode.get(index) ?? findDownstreamNodes(this.#plan, index)
    this.#downstreamByNode.set(index, known)
    return known
  }
}

/**
 * A node fires within the streams of its inputs, or of the first of these streams. So the paths of two connected nodes agree as far as both reach. Where
 * several routes lead to a node, the route with the fewest shared indices counts.
 */
function findDownstreamNodes({ nodes }: Plan, origin: number): SharedDepths {
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

function addPath(all: Map<number, Map<number, Set<string>>>, node: number, length: number, path: string): void {
  const byLength = all.get(node) ?? new Map<number, Set<string>>()
  all.set(node, byLength)
  byLength.set(length, (byLength.get(length) ?? new Set()).add(path))
}

function pathPrefix(path: string, indices: number): string {
  return indices === 0 ? '' : path.split('.').slice(0, indices).join('.')
}
