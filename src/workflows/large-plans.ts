// Compiled forms of large graphs: kept for a short time after their last use, where their room is not wanted by others, and found as long as anything else
// holds them.
import type { Graph } from '../engine/graph.ts'
import type { Plan } from '../engine/plan.ts'
import type { CompiledGraph } from './compiled-graph.ts'
import type { GraphRoom } from './graph-room.ts'

/** Milliseconds. What was prepared is used within a few, and often again soon. */
const KEPT_MS = 10_000
/** How many are kept at the most. One of 16 MB of text takes about 300 MB. */
const MOST_KEPT = 2

interface Kept {
  readonly timer: NodeJS.Timeout
  readonly held: Disposable
}

export class LargePlans {
  readonly #byHash = new Map<string, WeakRef<CompiledGraph>>()
  /** By the object that came with a request. */
  readonly #byGraph = new WeakMap<Graph, CompiledGraph>()
  /** Whoever holds a plan holds the rest as well: further jobs find it, and share the plan. */
  readonly #byPlan = new WeakMap<Plan, CompiledGraph>()
  readonly #rooms = new WeakMap<CompiledGraph, GraphRoom>()
  readonly #kept = new Map<CompiledGraph, Kept>()
  /** Those that are being made. */
  readonly #making = new Map<string, Promise<CompiledGraph>>()

  of(graph: Graph): CompiledGraph | undefined {
    return this.#byGraph.get(graph)
  }

  has(hash: string): boolean {
    return this.#byHash.get(hash)?.deref() !== undefined
  }

  get(hash: string): CompiledGraph | undefined {
    const known = this.#byHash.get(hash)?.deref()
    if (known) this.#keep(known)
    return known
  }

  /** About how much memory the plan of a graph takes, in bytes; 0 where that is small. */
  bytesOf(plan: Plan): number {
    return this.#byPlan.get(plan)?.bytes ?? 0
  }

  add(compiled: CompiledGraph, room: GraphRoom): void {
    this.#byHash.set(compiled.sha256, new WeakRef(compiled))
    this.#byGraph.set(compiled.graph, compiled)
    if (compiled.plan) this.#byPlan.set(compiled.plan, compiled)
    this.#rooms.set(compiled, room)
    this.#keep(compiled)
  }

  /** Finds it by another object of the same content as well. */
  addGraph(graph: Graph, compiled: CompiledGraph): void {
    this.#byGraph.set(graph, compiled)
  }

  /** Counts one until that is disposed of, also where it is not kept any more; null where it is small, or there is no room. */
  hold(compiled: CompiledGraph): Disposable | null {
    return this.#rooms.get(compiled)?.hold() ?? null
  }

  /** Whoever asks for one that is being made waits for it. `key`: its hash, and in whose turns. */
  once(key: string, make: () => Promise<CompiledGraph>): Promise<CompiledGraph> {
    const making = this.#making.get(key) ?? make().finally(() => this.#making.delete(key))
    this.#making.set(key, making)
    return making
  }

  /** Where there is no room for it, it is kept by those alone who have it. */
  #keep(compiled: CompiledGraph): void {
    const known = this.#kept.get(compiled)
    if (known) clearTimeout(known.timer)
    const held = known?.held ?? this.hold(compiled)
    if (!held) return
    this.#kept.delete(compiled)
    this.#kept.set(compiled, { held, timer: setTimeout(() => this.#letGo(compiled), KEPT_MS).unref() })
    if (this.#kept.size > MOST_KEPT) this.#letGo(this.#kept.keys().next().value!)
  }

  /** Keeps none of them any longer than others do. */
  letAllGo(): void {
    for (const compiled of [...this.#kept.keys()]) this.#letGo(compiled)
  }

  #letGo(compiled: CompiledGraph): void {
    const { timer, held } = this.#kept.get(compiled)!
    clearTimeout(timer)
    this.#kept.delete(compiled)
    held[Symbol.dispose]()
    for (const [hash, known] of this.#byHash) if (!known.deref()) this.#byHash.delete(hash)
  }
}
