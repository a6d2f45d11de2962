// LargePlanCache keeps compiled large graphs for a short time after their last use, unless their memory is needed. It finds them as long as
// any other code holds them.

import type { Plan } from '../engine/compile/compiler.ts'
import type { Graph } from '../engine/compile/graph.ts'
import type { CompiledWorkflowGraph } from './compiled-workflow-graph.ts'
import type { GraphMemoryReservation } from './graph-memory-reservation.ts'

/** Milliseconds. A prepared graph is used within a few milliseconds, and often again soon. */
const RETAINED_MS = 10_000
/** Number of graphs that are kept. A graph of 16 MB of text takes about 300 MB. */
const MOST_RETAINED = 2

interface RetainedPlan {
  readonly timer: NodeJS.Timeout
  readonly held: Disposable
}

export class LargePlanCache {
  readonly #byHash = new Map<string, WeakRef<CompiledWorkflowGraph>>()
  /** By the graph object of a request. */
  readonly #byGraph = new WeakMap<Graph, CompiledWorkflowGraph>()
  /** By plan: as long as a job holds the plan, further jobs find the compiled graph and share it. */
  readonly #byPlan = new WeakMap<Plan, CompiledWorkflowGraph>()
  readonly #reservations = new WeakMap<CompiledWorkflowGraph, GraphMemoryReservation>()
  readonly #retained = new Map<CompiledWorkflowGraph, RetainedPlan>()
  /** The compilations that are under way. */
  readonly #compilations = new Map<string, Promise<CompiledWorkflowGraph>>()

  findByGraph(graph: Graph): CompiledWorkflowGraph | undefined {
    return this.#byGraph.get(graph)
  }

  hasHash(hash: string): boolean {
    return this.#byHash.get(hash)?.deref() !== undefined
  }

  findByHash(hash: string): CompiledWorkflowGraph | undefined {
    const known = this.#byHash.get(hash)?.deref()
    if (known) this.#retain(known)
    return known
  }

  /** Returns roughly the memory that the plan of a graph takes, in bytes; 0 for a small graph. */
  bytesOf(plan: Plan): number {
    return this.#byPlan.get(plan)?.bytes ?? 0
  }

  add(compiled: CompiledWorkflowGraph, room: GraphMemoryReservation): void {
    this.#byHash.set(compiled.sha256, new WeakRef(compiled))
    this.#byGraph.set(compiled.graph, compiled)
    if (compiled.plan) this.#byPlan.set(compiled.plan, compiled)
    this.#reservations.set(compiled, room)
    this.#retain(compiled)
  }

  /** Lets another object of the same content find the compiled graph. */
  addGraph(graph: Graph, compiled: CompiledWorkflowGraph): void {
    this.#byGraph.set(graph, compiled)
  }

  /**
   * Counts the memory of a compiled graph until the result is disposed of, even if the cache drops the graph. Returns null if the graph is
   * small, or there is no room.
   */
  hold(compiled: CompiledWorkflowGraph): Disposable | null {
    return this.#reservations.get(compiled)?.hold() ?? null
  }

  /** Compiles a graph once; further callers wait for the same compilation. `key`: the hash, and the owner in whose turns it is compiled. */
  compileOnce(key: string, make: () => Promise<CompiledWorkflowGraph>): Promise<CompiledWorkflowGraph> {
    const making = this.#compilations.get(key) ?? make().finally(() => this.#compilations.delete(key))
    this.#compilations.set(key, making)
    return making
  }

  /** Keeps a graph for a while, unless there is no room for it. */
  #retain(compiled: CompiledWorkflowGraph): void {
    const known = this.#retained.get(compiled)
    if (known) clearTimeout(known.timer)
    const held = known?.held ?? this.hold(compiled)
    if (!held) return
    this.#retained.delete(compiled)
    this.#retained.set(compiled, { held, timer: setTimeout(() => this.#release(compiled), RETAINED_MS).unref() })
    if (this.#retained.size > MOST_RETAINED) this.#release(this.#retained.keys().next().value!)
  }

  /** Drops all kept graphs. */
  releaseAll(): void {
    for (const compiled of [...this.#retained.keys()]) this.#release(compiled)
  }

  #release(compiled: CompiledWorkflowGraph): void {
    const { timer, held } = this.#retained.get(compiled)!
    clearTimeout(timer)
    this.#retained.delete(compiled)
    held[Symbol.dispose]()
    for (const [hash, known] of this.#byHash) if (!known.deref()) this.#byHash.delete(hash)
  }
}
