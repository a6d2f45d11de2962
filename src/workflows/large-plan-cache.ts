// Compiled forms of large graphs: kept for a short time after their last use, where their room is not wanted by others, and found as long as anything else
// holds them.

import type { Plan } from '../engine/compile/compiler.ts'
import type { Graph } from '../engine/compile/graph.ts'
import type { CompiledWorkflowGraph } from './compiled-workflow-graph.ts'
import type { GraphMemoryReservation } from './graph-memory-reservation.ts'

/** Milliseconds. What was prepared is used within a few, and often again soon. */
const RETAINED_MS = 10_000
/** How many are kept at the most. One of 16 MB of text takes about 300 MB. */
const MOST_RETAINED = 2

interface RetainedPlan {
  readonly timer: NodeJS.Timeout
  readonly held: Disposable
}

export class LargePlanCache {
  readonly #byHash = new Map<string, WeakRef<CompiledWorkflowGraph>>()
  /** By the object that came with a request. */
  readonly #byGraph = new WeakMap<Graph, CompiledWorkflowGraph>()
  /** Whoever holds a plan holds the rest as well: further jobs find it, and share the plan. */
  readonly #byPlan = new WeakMap<Plan, CompiledWorkflowGraph>()
  readonly #reservations = new WeakMap<CompiledWorkflowGraph, GraphMemoryReservation>()
  readonly #retained = new Map<CompiledWorkflowGraph, RetainedPlan>()
  /** Those that are being made. */
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

  /** About how much memory the plan of a graph takes, in bytes; 0 where that is small. */
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

  /** Finds it by another object of the same content as well. */
  addGraph(graph: Graph, compiled: CompiledWorkflowGraph): void {
    this.#byGraph.set(graph, compiled)
  }

  /** Counts one until that is disposed of, also where it is not kept any more; null where it is small, or there is no room. */
  hold(compiled: CompiledWorkflowGraph): Disposable | null {
    return this.#reservations.get(compiled)?.hold() ?? null
  }

  /** Whoever asks for one that is being made waits for it. `key`: its hash, and in whose turns. */
  compileOnce(key: string, make: () => Promise<CompiledWorkflowGraph>): Promise<CompiledWorkflowGraph> {
    const making = this.#compilations.get(key) ?? make().finally(() => this.#compilations.delete(key))
    this.#compilations.set(key, making)
    return making
  }

  /** Where there is no room for it, it is kept by those alone who have it. */
  #retain(compiled: CompiledWorkflowGraph): void {
    const known = this.#retained.get(compiled)
    if (known) clearTimeout(known.timer)
    const held = known?.held ?? this.hold(compiled)
    if (!held) return
    this.#retained.delete(compiled)
    this.#retained.set(compiled, { held, timer: setTimeout(() => this.#release(compiled), RETAINED_MS).unref() })
    if (this.#retained.size > MOST_RETAINED) this.#release(this.#retained.keys().next().value!)
  }

  /** Keeps none of them any longer than others do. */
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
