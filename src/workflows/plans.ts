// Compiled graphs, kept by content: a workflow that is run a thousand times is compiled once.
import { graphBody } from '../db/graphs.ts'
import type { Store } from '../db/store.ts'
import type { Graph } from '../engine/graph.ts'
import type { NodeRegistry } from '../engine/node-type.ts'
import { type Compiled, compileGraph } from '../engine/plan.ts'
import { canonicalJson, sha256 } from '../json.ts'

/** A graph with everything that follows from it alone. */
export interface CompiledGraph extends Compiled {
  readonly sha256: string
  /** The graph's JSON text, as it is stored. */
  readonly body: string
  readonly graph: Graph
  /** The hash of what the graph means: editors' `ui_properties` are left out. */
  readonly etag: string
}

/** How much graph text the kept plans may stand for; a plan takes about ten times its text. */
const KEPT_LENGTH = 8 * 1024 * 1024
/** A graph with more text is compiled for each use: kept, it would push out all others. */
const LONGEST_KEPT = KEPT_LENGTH / 4

export class Plans {
  readonly #store: Store
  readonly #registry: NodeRegistry
  readonly #kept = new Map<string, CompiledGraph>()
  #keptLength = 0

  constructor(store: Store, registry: NodeRegistry) {
    this.#store = store
    this.#registry = registry
  }

  /** The compiled form of a graph that came with a request. */
  compile(graph: Graph): CompiledGraph {
    const body = JSON.stringify(graph)
    const hash = sha256(body)
    return this.#recall(hash) ?? this.#keep(hash, body, graph)
  }

  /** The compiled form of a stored graph. */
  stored(hash: string): CompiledGraph {
    const known = this.#recall(hash)
    if (known) return known
    const body = this.#store.read((tx) => graphBody(tx, hash))
    if (body === undefined) throw new Error(`graph ${hash} is not stored`)
    return this.#keep(hash, body, JSON.parse(body) as Graph)
  }

  // A Map remembers insertion order: what was used last stands last, and the first is the one to drop.
  #recall(hash: string): CompiledGraph | undefined {
    const known = this.#kept.get(hash)
    if (known) {
      this.#kept.delete(hash)
      this.#kept.set(hash, known)
    }
    return known
  }

  #keep(hash: string, body: string, graph: Graph): CompiledGraph {
    const entry = { ...compileGraph(graph, this.#registry), sha256: hash, body, graph, etag: etagOf(graph) }
    if (body.length > LONGEST_KEPT) return entry
    this.#kept.set(hash, entry)
    this.#keptLength += body.length
    while (this.#keptLength > KEPT_LENGTH) this.#dropOldest()
    return entry
  }

  #dropOldest(): void {
    const [hash, entry] = this.#kept.entries().next().value!
    this.#kept.delete(hash)
    this.#keptLength -= entry.body.length
  }
}

function etagOf(graph: Graph): string {
  const bare = ({ ui_properties: _, ...rest }: Record<string, unknown>) => rest
  return sha256(canonicalJson({ ...graph, nodes: graph.nodes.map(bare), edges: graph.edges.map(bare) }))
}
