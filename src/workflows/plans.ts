// Compiled graphs, kept by content: a workflow that is run a thousand times is compiled once. Large ones are compiled in time slices before they
// are asked for, and kept for a short time.
import { graphBody } from '../db/graphs.ts'
import type { Store } from '../db/store.ts'
import type { Graph } from '../engine/graph.ts'
import type { NodeRegistry } from '../engine/node-type.ts'
import { compileGraph, compileSteps } from '../engine/plan.ts'
import { canonicalHashSteps, sha256, textHashSteps } from '../hashes.ts'
import { canonicalJson } from '../json.ts'
import { jsonTextSteps, keepText } from '../json-steps.ts'
import { isLight } from '../light-parts.ts'
import { parseJsonInParts } from '../payloads/json-parts.ts'
import { LARGE_PAYLOAD } from '../payloads/payload-judge.ts'
import { mapStep, type Steps, TimeSlices } from '../time-slices.ts'
import type { CompiledGraph } from './compiled-graph.ts'
import { graphBytes, graphBytesSteps } from './graph-bytes.ts'
import { LargePlans } from './large-plans.ts'

export type { CompiledGraph } from './compiled-graph.ts'

/** How much graph text the kept plans may stand for; a plan takes about ten times its text. */
const KEPT_LENGTH = 8 * 1024 * 1024
/** A graph with more text is compiled for each use: kept, it would push out all others. */
const LONGEST_KEPT = KEPT_LENGTH / 4

export class Plans {
  readonly #store: Store
  readonly #registry: NodeRegistry
  readonly slices: TimeSlices
  readonly #kept = new Map<string, CompiledGraph>()
  readonly #large = new LargePlans()
  #keptLength = 0

  constructor(store: Store, registry: NodeRegistry, slices = new TimeSlices()) {
    this.#store = store
    this.#registry = registry
    this.slices = slices
  }

  /**
   * Compiles a graph that is large in time slices of its owner, so that `compile` finds it; null where the graph is small. The graph must not
   * change any more.
   */
  prepare(owner: string, graph: Graph): Promise<void> | null {
    if (this.#large.of(graph) || isLight(graph)) return null
    return this.slices.run(owner, this.#compileSteps(graph)).then((entry) => this.#remember(entry))
  }

  /** The same for a stored graph, so that `stored` finds it. */
  prepareStored(owner: string, hash: string): Promise<void> | null {
    if (this.#recall(hash)) return null
    const body = this.#store.read((tx) => graphBody(tx, hash))
    if (body === undefined) return null
    if (body.length <= LARGE_PAYLOAD) {
      this.#keep(hash, body, JSON.parse(body) as Graph)
      return null
    }
    return this.#large.once(hash, async () =>
      this.#remember(await this.slices.run(owner, this.#parseSteps(hash, body))),
    )
  }

  *#compileSteps(graph: Graph): Steps<CompiledGraph> {
    const body = yield* jsonTextSteps(graph)
    const hash = yield* textHashSteps(body)
    return this.#recall(hash) ?? (yield* this.#entrySteps(hash, body, graph))
  }

  *#parseSteps(hash: string, body: string): Steps<CompiledGraph> {
    const graph = (yield* parseJsonInParts(Buffer.from(body))) as Graph
    return yield* this.#entrySteps(hash, body, graph)
  }

  *#entrySteps(hash: string, body: string, graph: Graph): Steps<CompiledGraph> {
    const compiled = yield* compileSteps(graph, this.#registry)
    const bytes = yield* graphBytesSteps(body)
    return { ...compiled, sha256: hash, body, bytes, graph, etag: yield* etagSteps(graph) }
  }

  /** The compiled form of a graph that came with a request. */
  compile(graph: Graph): CompiledGraph {
    const prepared = this.#large.of(graph)
    if (prepared) return prepared
    const body = JSON.stringify(graph)
    const hash = sha256(body)
    return this.#recall(hash) ?? this.#keep(hash, body, graph)
  }

  /** The compiled form of a stored graph. */
  stored(hash: string): CompiledGraph {
    const known = this.#recall(hash)
    if (known) return known
    const body = this.textOf(hash)
    return this.#keep(hash, body, JSON.parse(body) as Graph)
  }

  /** The JSON text of a stored graph. */
  textOf(hash: string): string {
    const body = this.#store.read((tx) => graphBody(tx, hash))
    if (body === undefined) throw new Error(`graph ${hash} is not stored`)
    return body
  }

  // A Map remembers insertion order: what was used last stands last, and the first is the one to drop.
  #recall(hash: string): CompiledGraph | undefined {
    const known = this.#kept.get(hash)
    if (known) {
      this.#kept.delete(hash)
      this.#kept.set(hash, known)
    }
    return known ?? this.#large.get(hash)
  }

  #keep(hash: string, body: string, graph: Graph): CompiledGraph {
    const compiled = compileGraph(graph, this.#registry)
    const entry = { ...compiled, sha256: hash, body, bytes: graphBytes(body), graph, etag: etagOf(graph) }
    this.#remember(entry)
    return entry
  }

  #remember(entry: CompiledGraph): void {
    const { sha256: hash, body } = entry
    if (body.length > LARGE_PAYLOAD) {
      this.#large.keep(entry)
      keepText(entry.graph, body)
    }
    if (body.length > LONGEST_KEPT || this.#kept.has(hash)) return
    this.#kept.set(hash, entry)
    this.#keptLength += body.length
    while (this.#keptLength > KEPT_LENGTH) this.#dropOldest()
  }

  #dropOldest(): void {
    const [hash, entry] = this.#kept.entries().next().value!
    this.#kept.delete(hash)
    this.#keptLength -= entry.body.length
  }
}

/** Whether what is derived from a graph may take long. */
export function isLargeGraph({ body }: CompiledGraph): boolean {
  return body.length > LARGE_PAYLOAD
}

const bare = ({ ui_properties: _, ...rest }: Record<string, unknown>) => rest

function* etagSteps(graph: Graph): Steps<string> {
  const [nodes, edges] = [yield* mapStep(graph.nodes, bare), yield* mapStep(graph.edges, bare)]
  return yield* canonicalHashSteps({ ...graph, nodes, edges })
}

function etagOf(graph: Graph): string {
  return sha256(canonicalJson({ ...graph, nodes: graph.nodes.map(bare), edges: graph.edges.map(bare) }))
}
