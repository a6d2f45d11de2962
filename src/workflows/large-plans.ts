// Compiled forms of large graphs: kept for a short time after their last use, and as long as anything else holds them.
import type { Graph } from '../engine/graph.ts'
import type { Plan } from '../engine/plan.ts'
import type { CompiledGraph } from './compiled-graph.ts'

/** Milliseconds. What was prepared is used within a few, and often again soon. */
const KEPT_MS = 10_000
/** How many are kept at the most. One of 16 MB of text takes about 200 MB. */
const MOST_KEPT = 2

export class LargePlans {
  readonly #byHash = new Map<string, WeakRef<CompiledGraph>>()
  /** By the object that came with a request. */
  readonly #byGraph = new WeakMap<Graph, CompiledGraph>()
  /** Whoever holds a plan holds the rest as well: further jobs find it, and share the plan. */
  readonly #byPlan = new WeakMap<Plan, CompiledGraph>()
  readonly #kept = new Map<CompiledGraph, NodeJS.Timeout>()
  /** Those that are being made. */
  readonly #making = new Map<string, Promise<void>>()

  of(graph: Graph): CompiledGraph | undefined {
    return this.#byGraph.get(graph)
  }

  get(hash: string): CompiledGraph | undefined {
    const known = this.#byHash.get(hash)?.deref()
    if (known) this.#hold(known)
    return known
  }

  keep(compiled: CompiledGraph): void {
    this.#byHash.set(compiled.sha256, new WeakRef(compiled))
    this.#byGraph.set(compiled.graph, compiled)
    if (compiled.plan) this.#byPlan.set(compiled.plan, compiled)
    this.#hold(compiled)
  }

  /** Whoever asks for one that is being made waits for it. */
  once(hash: string, make: () => Promise<void>): Promise<void> {
    const making = this.#making.get(hash) ?? make().finally(() => this.#making.delete(hash))
    this.#making.set(hash, making)
    return making
  }

  #hold(compiled: CompiledGraph): void {
    clearTimeout(this.#kept.get(compiled))
    this.#kept.delete(compiled)
    this.#kept.set(compiled, setTimeout(() => this.#letGo(compiled), KEPT_MS).unref())
    if (this.#kept.size > MOST_KEPT) this.#letGo(this.#kept.keys().next().value!)
  }

  #letGo(compiled: CompiledGraph): void {
    clearTimeout(this.#kept.get(compiled))
    this.#kept.delete(compiled)
    for (const [hash, known] of this.#byHash) if (!known.deref()) this.#byHash.delete(hash)
  }
}
