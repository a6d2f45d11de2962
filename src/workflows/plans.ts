// Compiled graphs, kept by content: a workflow that is run a thousand times is compiled once. Large ones are compiled in time slices before they
// are asked for, and kept for a short time.
import { LRUCache } from 'lru-cache'
import { graphBody } from '../db/graphs.ts'
import type { Store } from '../db/store.ts'
import type { Graph } from '../engine/graph.ts'
import type { NodeRegistry, ReaderContext } from '../engine/node-type.ts'
import { readPendingExpressions } from '../engine/pending-expressions.ts'
import { compileGraph, compileSteps, type Plan } from '../engine/plan.ts'
import { canonicalHashSteps, sha256, textHashSteps } from '../hashes.ts'
import { canonicalJson } from '../json.ts'
import { jsonTextSteps, keepText } from '../json-steps.ts'
import { isLight } from '../light-parts.ts'
import { parseJsonInParts } from '../payloads/json-parts.ts'
import { heapBytes, MemoryAccount } from '../payloads/memory-account.ts'
import { LARGE_PAYLOAD } from '../payloads/payload-judge.ts'
import { finish, mapStep, type Steps, TimeSlices } from '../time-slices.ts'
import type { CompiledGraph } from './compiled-graph.ts'
import { type GraphMemory, graphMemory } from './graph-memory.ts'
import { GraphRoom, type SharedRoom } from './graph-room.ts'
import { LargePlans } from './large-plans.ts'

export type { CompiledGraph } from './compiled-graph.ts'

/** How much graph text the kept plans may stand for, unless the heap is small; a plan takes about ten times its text, and up to twenty. */
const KEPT_LENGTH = Math.floor(Math.min(8 * 1024 * 1024, heapBytes(1 / 100)))
/** A graph with more text is compiled for each use: kept, it would push out all others. */
const LONGEST_KEPT = Math.floor(KEPT_LENGTH / 4)

const TOO_LARGE = 'The graph takes more memory than the server has for one.'
/** Whose graphs are that were not prepared for anybody. */
const NOBODY = ''
const NOTHING: GraphMemory = { kept: 0, meanwhile: 0 }

interface Weighed {
  readonly hash: string
  readonly body: string
  readonly memory: GraphMemory
}

interface Named {
  readonly hash: string
  readonly body: string
  readonly graph: Graph
}

export type ExpressionWorkers = Pick<ReaderContext, 'compute' | 'sandbox'>

export class Plans {
  readonly #store: Store
  readonly #registry: NodeRegistry
  readonly slices: TimeSlices
  readonly #kept = new LRUCache<string, CompiledGraph>({
    maxSize: KEPT_LENGTH,
    maxEntrySize: LONGEST_KEPT,
    sizeCalculation: ({ body }) => body.length,
  })
  readonly #large = new LargePlans()
  readonly #room: SharedRoom
  /** Large ones that are being made, by hash: several owners may go on with one in their turns. */
  readonly #making = new Map<string, Steps<CompiledGraph>>()
  readonly #workers: ExpressionWorkers | null

  /**
   * `room`: what large graphs take while they are compiled, and a request or the cache holds them. `workers`: the threads that read slow expressions;
   * null: these are left to the firings.
   */
  constructor(
    store: Store,
    registry: NodeRegistry,
    slices = new TimeSlices(),
    room: SharedRoom = new MemoryAccount(),
    workers: ExpressionWorkers | null = null,
  ) {
    this.#workers = workers
    this.#store = store
    this.#registry = registry
    this.slices = slices
    this.#room = room
    room.spareWith(() => this.#large.letAllGo())
  }

  /**
   * Compiles a large graph in time slices of its owner, and reads the slow expressions of any graph, so that `compile` finds it with all of its issues. Null
   * if there is nothing to wait for. The graph must not change any more.
   * @throws REQUEST_TOO_LARGE where it takes more memory than there may be; NoRoom
   */
  prepare(owner: string, graph: Graph): Promise<void> | null {
    const prepared = this.#large.of(graph)
    if (prepared) return this.#readPending(owner, prepared)
    if (!isLight(graph)) return this.#prepareGiven(owner, graph)
    if (!graph.nodes.some(({ type }) => this.#mayBePending(type))) return null
    const compiled = this.compile(graph)
    this.#large.addGraph(graph, compiled)
    return this.#readPending(owner, compiled)
  }

  #mayBePending(node_type: string): boolean {
    const type = this.#registry.get(node_type)
    return type?.slowExpressions !== undefined || type?.costlyExpressions !== undefined
  }

  /** The same for a stored graph, before a new run of it: `stored` finds it then. */
  prepareRun(owner: string, hash: string, deadline?: AbortSignal): Promise<unknown> | null {
    const compiling = this.prepareStored(owner, hash)
    const read = () => {
      const compiled = this.#recall(hash)
      return compiled ? this.#readPending(owner, compiled, deadline) : null
    }
    return compiling ? compiling.then(read) : read()
  }

  #readPending(owner: string, compiled: CompiledGraph, deadline?: AbortSignal): Promise<void> | null {
    if (compiled.pending.size === 0 || !this.#workers) return null
    const services = { ...this.#workers, owner, turn: () => this.slices.turn(owner) }
    return readPendingExpressions(compiled, services, deadline).then(() => {
      // Other graphs may have pushed it out meanwhile. Compiled anew, its expressions would be pending again.
      if (!this.#recall(compiled.sha256)) this.#kept.set(compiled.sha256, compiled)
    })
  }

  /** Compiles a stored graph as `prepare` does, for a job that was accepted before. Such a job goes on with expressions that are wrong, so that none is read. */
  prepareStored(owner: string, hash: string): Promise<unknown> | null {
    if (this.#recall(hash)) return null
    const body = this.#store.read((tx) => graphBody(tx, hash))
    if (body === undefined) return null
    if (body.length <= LARGE_PAYLOAD) {
      this.#keep(hash, body, JSON.parse(body) as Graph)
      return null
    }
    return this.#makeTextOnce(owner, hash, body)
  }

  /** Once for all who ask in the turns of one owner: nobody waits for those of another, who may have much to do, or no room. */
  #makeTextOnce(owner: string, hash: string, body: string): Promise<CompiledGraph> {
    return this.#large.once(`${hash} ${owner}`, () => this.#makeText(owner, hash, body))
  }

  async #makeText(owner: string, hash: string, body: string): Promise<CompiledGraph> {
    const memory = await this.slices.run(owner, graphMemory(body))
    return this.#make(owner, { hash, body, memory }, () => this.#parseSteps(hash, body, memory.kept))
  }

  async #prepareGiven(owner: string, graph: Graph): Promise<void> {
    const text = await this.slices.run(owner, textSteps(graph))
    const { hash, body, memory } = text
    const steps = () => this.#entrySteps({ hash, body, graph }, memory.kept)
    const compiled = this.#recall(hash) ?? (await this.#make(owner, text, steps))
    this.#large.addGraph(graph, compiled)
    await this.#readPending(owner, compiled)
  }

  /** Makes one, or goes on with it in the owner's turns where others make it: of one text none is made twice at the same time. */
  async #make(owner: string, weighed: Weighed, steps: () => Steps<CompiledGraph>): Promise<CompiledGraph> {
    for (;;) {
      const making = this.#making.get(weighed.hash) ?? (await this.#begin(owner, weighed, steps))
      const made = (making && (await this.slices.run(owner, sharing(making)))) ?? this.#recall(weighed.hash)
      if (made) return made
    }
  }

  /** Takes room for what is made meanwhile where that is much. Null where others have made it since. @throws as `prepare` */
  async #begin(
    owner: string,
    weighed: Weighed,
    steps: () => Steps<CompiledGraph>,
  ): Promise<Steps<CompiledGraph> | null> {
    const { hash, body, memory } = weighed
    const { kept, meanwhile } = body.length > LARGE_PAYLOAD ? memory : NOTHING
    const release = meanwhile === 0 ? () => {} : await this.#room.take(owner, meanwhile, TOO_LARGE)
    const others = this.#making.get(hash) ?? null
    if (others || this.isKnown(hash)) {
      release()
      return others
    }
    const making = this.#makingSteps(hash, steps(), release, (entry) => {
      this.#room.change(owner, kept - meanwhile)
      this.#remember(entry, new GraphRoom(this.#room, { owner, bytes: kept, isTaken: true }))
    })
    this.#making.set(hash, making)
    return making
  }

  /** Whoever's turn it is in which it is made, it is kept then, with its room. */
  *#makingSteps(
    hash: string,
    steps: Steps<CompiledGraph>,
    release: () => void,
    keep: (entry: CompiledGraph) => void,
  ): Steps<CompiledGraph> {
    try {
      const entry = yield* steps
      keep(entry)
      return entry
    } catch (error) {
      release()
      throw error
    } finally {
      this.#making.delete(hash)
    }
  }

  *#parseSteps(hash: string, body: string, bytes: number): Steps<CompiledGraph> {
    const graph = (yield* parseJsonInParts(Buffer.from(body))) as Graph
    return yield* this.#entrySteps({ hash, body, graph }, bytes)
  }

  *#entrySteps({ hash, body, graph }: Named, bytes: number): Steps<CompiledGraph> {
    const compiled = yield* compileSteps(graph, this.#registry)
    return { ...compiled, sha256: hash, body, bytes, graph, etag: yield* etagSteps(graph) }
  }

  /** Counts a compiled graph that is large for as long as a request works on it, until that is disposed of. */
  hold(compiled: CompiledGraph): Disposable | null {
    return this.#large.hold(compiled)
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

  /** The compiled form of a graph of which the text is kept elsewhere; that of a large one is made in time slices of an owner. @throws as `prepare` */
  async ofText(owner: string, body: string): Promise<CompiledGraph> {
    if (body.length <= LARGE_PAYLOAD) return this.compile(JSON.parse(body) as Graph)
    const hash = await this.slices.run(owner, textHashSteps(body))
    return this.#recall(hash) ?? this.#makeTextOnce(owner, hash, body)
  }

  /** About how much memory the plan of a graph takes, in bytes; 0 where that is small. */
  bytesOf(plan: Plan): number {
    return this.#large.bytesOf(plan)
  }

  /** Whether a graph is compiled already. */
  isKnown(hash: string): boolean {
    return this.#kept.has(hash) || this.#large.has(hash)
  }

  /** The JSON text of a stored graph. */
  textOf(hash: string): string {
    const body = this.#store.read((tx) => graphBody(tx, hash))
    if (body === undefined) throw new Error(`graph ${hash} is not stored`)
    return body
  }

  #recall(hash: string): CompiledGraph | undefined {
    return this.#kept.get(hash) ?? this.#large.get(hash)
  }

  #keep(hash: string, body: string, graph: Graph): CompiledGraph {
    const compiled = compileGraph(graph, this.#registry)
    const { kept: bytes } = finish(graphMemory(body))
    const entry = { ...compiled, sha256: hash, body, bytes, graph, etag: etagOf(graph) }
    this.#remember(entry, new GraphRoom(this.#room, { owner: NOBODY, bytes, isTaken: false }))
    return entry
  }

  #remember(entry: CompiledGraph, room: GraphRoom): void {
    const { sha256: hash, body } = entry
    if (body.length > LARGE_PAYLOAD) {
      this.#large.add(entry, room)
      keepText(entry.graph, body)
    }
    if (!this.#kept.has(hash)) this.#kept.set(hash, entry)
  }
}

/** Goes on with what others may go on with as well. Null where one of them came to its end. */
function* sharing<T>(steps: Steps<T>): Steps<T | null> {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value ?? null
    yield
  }
}

function* textSteps(graph: Graph): Steps<Weighed> {
  const body = yield* jsonTextSteps(graph)
  return { body, hash: yield* textHashSteps(body), memory: yield* graphMemory(body) }
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
