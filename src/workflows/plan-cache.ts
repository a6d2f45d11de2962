// PlanCache caches compiled graphs by owner and content, so that a workflow that runs a thousand times is compiled once. Large graphs are compiled in
// time slices before they are needed, and kept for a short time.
import { LRUCache } from 'lru-cache'
import { readGraphText } from '../db/graphs.ts'
import type { Store } from '../db/store.ts'
import { compileGraph, compileGraphSteps, type Plan } from '../engine/compile/compiler.ts'
import type { Graph } from '../engine/compile/graph.ts'
import { validatePendingExpressions } from '../engine/compile/pending-expressions.ts'
import type { ExpressionReaderContext } from '../engine/node-api/node-facts.ts'
import type { NodeRegistry } from '../engine/node-api/node-type.ts'
import { FairMemoryAccount, heapShareBytes } from '../payloads/fair-memory-account.ts'
import { parseJsonSteps } from '../payloads/incremental-json-parser.ts'
import { LARGE_PAYLOAD_BYTES } from '../payloads/payload-validator.ts'
import { canonicalHashSteps, sha256, textHashSteps } from '../shared/hashes.ts'
import { cacheJsonText, stringifySteps } from '../shared/incremental-json.ts'
import { canonicalJson } from '../shared/json.ts'
import { mapSteps, runToCompletion, type Steps, TimeSliceScheduler } from '../shared/time-slices.ts'
import { isSmallValue } from '../shared/value-size.ts'
import type { CompiledWorkflowGraph } from './compiled-workflow-graph.ts'
import { graphKey } from './graph-key.ts'
import { estimateGraphMemorySteps, type GraphMemoryEstimate } from './graph-memory-estimate.ts'
import { type CompilationMemoryAccount, GraphMemoryReservation } from './graph-memory-reservation.ts'
import { LargePlanCache } from './large-plan-cache.ts'

export type { CompiledWorkflowGraph } from './compiled-workflow-graph.ts'

/** Characters of graph text whose plans are cached, fewer on a small heap. A plan takes about ten times its text, and up to twenty. */
const CACHED_CHARACTERS = Math.floor(Math.min(8 * 1024 * 1024, heapShareBytes(1 / 100)))
/** A longer graph is not cached here, because it would displace all others. */
const LONGEST_CACHED = Math.floor(CACHED_CHARACTERS / 4)

/** The owner of graphs that were compiled at once, without turns. */
const NO_OWNER = ''
const GRAPH_TOO_LARGE = 'The graph needs more memory than the server allows for one graph.'
const NO_MEMORY: GraphMemoryEstimate = { retained_bytes: 0, peak_bytes: 0 }

interface WeighedGraph {
  readonly hash: string
  readonly body: string
  readonly memory: GraphMemoryEstimate
}

interface ParsedGraph {
  readonly hash: string
  readonly body: string
  readonly graph: Graph
}

export type ExpressionWorkers = Pick<ExpressionReaderContext, 'compute' | 'sandbox'>

export class PlanCache {
  readonly #store: Store
  readonly #registry: NodeRegistry
  readonly slices: TimeSliceScheduler
  readonly #cached = new LRUCache<string, CompiledWorkflowGraph>({
    maxSize: CACHED_CHARACTERS,
    maxEntrySize: LONGEST_CACHED,
    sizeCalculation: ({ body }) => body.length,
  })
  readonly #largePlans = new LargePlanCache()
  readonly #memory: CompilationMemoryAccount
  /** The compilations of large graphs that are under way, by key. Several readers of a public workflow may advance one in their turns. */
  readonly #compilations = new Map<string, Steps<CompiledWorkflowGraph>>()
  readonly #workers: ExpressionWorkers | null

  /**
   * `memory`: the account for large graphs, while they are compiled and while a request or the cache holds them. `workers`: the
   * threads that parse slow expressions; if null, each firing parses them.
   */
  constructor(
    store: Store,
    registry: NodeRegistry,
    slices = new TimeSliceScheduler(),
    memory: CompilationMemoryAccount = new FairMemoryAccount(),
    workers: ExpressionWorkers | null = null,
  ) {
    this.#workers = workers
    this.#store = store
    this.#registry = registry
    this.slices = slices
    this.#memory = memory
    memory.onPressure(() => this.#largePlans.releaseAll())
  }

  /**
   * Compiles a large graph in time slices of its owner, and parses the slow expressions of any graph. Then `compile` returns it with all
   * issues. Returns null if there is nothing to wait for. The graph must not change any more.
   * @throws REQUEST_TOO_LARGE if it takes more memory than allowed; MemoryUnavailableError
   */
  prepare(owner: string, graph: Graph): Promise<void> | null {
    const prepared = this.#largePlans.findByGraph(graph)
    if (prepared) return this.#readPending(owner, prepared)
    if (!isSmallValue(graph)) return this.#prepareLarge(owner, graph)
    if (!graph.nodes.some(({ type }) => this.#mayBePending(type))) return null
    const compiled = this.compile(owner, graph)
    this.#largePlans.addGraph(graph, compiled)
    return this.#readPending(owner, compiled)
  }

  #mayBePending(node_type: string): boolean {
    const type = this.#registry.get(node_type)
    return type?.slowExpressions !== undefined || type?.costlyExpressions !== undefined
  }

  /** Does the same for a stored graph before a new run, for `compileStored`. */
  prepareRun(owner: string, hash: string, deadline?: AbortSignal): Promise<unknown> | null {
    const compiling = this.prepareStored(owner, hash)
    const read = () => {
      const compiled = this.#findCached(hash)
      return compiled ? this.#readPending(owner, compiled, deadline) : null
    }
    return compiling ? compiling.then(read) : read()
  }

  #readPending(owner: string, compiled: CompiledWorkflowGraph, deadline?: AbortSignal): Promise<void> | null {
    if (compiled.pendingExpressions.size === 0 || !this.#workers) return null
    const services = { ...this.#workers, owner, turn: () => this.slices.turn(owner) }
    return validatePendingExpressions(compiled, services, deadline).then(() => {
      // Other graphs may have displaced it meanwhile. A new compilation would have pending expressions again.
      if (!this.#findCached(compiled.sha256)) this.#cached.set(compiled.sha256, compiled)
    })
  }

  /**
   * Compiles a stored graph as `prepare` does, for a job that was accepted before. Such a job may go on with wrong expressions, so none is
   * parsed here.
   */
  prepareStored(owner: string, hash: string): Promise<unknown> | null {
    if (this.#findCached(hash)) return null
    const body = this.#store.read((tx) => readGraphText(tx, hash))
    if (body === undefined) return null
    if (body.length <= LARGE_PAYLOAD_BYTES) {
      this.#compileAndCache(hash, body, JSON.parse(body) as Graph)
      return null
    }
    return this.#compileLargeTextOnce(owner, hash, body)
  }

  /** Compiles a text once for all calls of one owner. No owner waits for the turns of another one, who may have much work or no memory. */
  #compileLargeTextOnce(owner: string, hash: string, body: string): Promise<CompiledWorkflowGraph> {
    return this.#largePlans.compileOnce(`${hash} ${owner}`, () => this.#compileLargeText(owner, hash, body))
  }

  async #compileLargeText(owner: string, hash: string, body: string): Promise<CompiledWorkflowGraph> {
    const memory = await this.slices.run(owner, estimateGraphMemorySteps(body))
    return this.#compileShared(owner, { hash, body, memory }, () => this.#parseSteps(hash, body, memory.retained_bytes))
  }

  async #prepareLarge(owner: string, graph: Graph): Promise<void> {
    const weighed = await this.slices.run(owner, weighGraphSteps(owner, graph))
    const { hash, body, memory } = weighed
    const steps = () => this.#compiledGraphSteps({ hash, body, graph }, memory.retained_bytes)
    const compiled = this.#findCached(hash) ?? (await this.#compileShared(owner, weighed, steps))
    this.#largePlans.addGraph(graph, compiled)
    await this.#readPending(owner, compiled)
  }

  /** Compiles a graph, or advances a compilation that another owner has started: no text is compiled twice at the same time. */
  async #compileShared(
    owner: string,
    weighed: WeighedGraph,
    steps: () => Steps<CompiledWorkflowGraph>,
  ): Promise<CompiledWorkflowGraph> {
    for (;;) {
      const making = this.#compilations.get(weighed.hash) ?? (await this.#startCompilation(owner, weighed, steps))
      const made = (making && (await this.slices.run(owner, sharedSteps(making)))) ?? this.#findCached(weighed.hash)
      if (made) return made
    }
  }

  /**
   * Takes memory if the compilation needs much, and starts it. Returns null if another call has completed it meanwhile.
   * @throws what `prepare` throws
   */
  async #startCompilation(
    owner: string,
    weighed: WeighedGraph,
    steps: () => Steps<CompiledWorkflowGraph>,
  ): Promise<Steps<CompiledWorkflowGraph> | null> {
    const { hash, body, memory } = weighed
    const { retained_bytes, peak_bytes } = body.length > LARGE_PAYLOAD_BYTES ? memory : NO_MEMORY
    const release = peak_bytes === 0 ? () => {} : await this.#memory.take(owner, peak_bytes, GRAPH_TOO_LARGE)
    const others = this.#compilations.get(hash) ?? null
    if (others || this.isKnown(hash)) {
      release()
      return others
    }
    const making = this.#compilationSteps(hash, steps(), release, (entry) => {
      this.#memory.change(owner, retained_bytes - peak_bytes)
      this.#cache(entry, new GraphMemoryReservation(this.#memory, { owner, bytes: retained_bytes, isTaken: true }))
    })
    this.#compilations.set(hash, making)
    return making
  }

  /** Runs a compilation in the turns of any owner, and caches the result with its memory. */
  *#compilationSteps(
    hash: string,
    steps: Steps<CompiledWorkflowGraph>,
    release: () => void,
    keep: (entry: CompiledWorkflowGraph) => void,
  ): Steps<CompiledWorkflowGraph> {
    try {
      const entry = yield* steps
      keep(entry)
      return entry
    } catch (error) {
      release()
      throw error
    } finally {
      this.#compilations.delete(hash)
    }
  }

  *#parseSteps(hash: string, body: string, bytes: number): Steps<CompiledWorkflowGraph> {
    const graph = (yield* parseJsonSteps(Buffer.from(body))) as Graph
    return yield* this.#compiledGraphSteps({ hash, body, graph }, bytes)
  }

  *#compiledGraphSteps({ hash, body, graph }: ParsedGraph, bytes: number): Steps<CompiledWorkflowGraph> {
    const compiled = yield* compileGraphSteps(graph, this.#registry)
    return { ...compiled, sha256: hash, body, bytes, graph, etag: yield* computeEtagSteps(graph) }
  }

  /** Counts a large compiled graph for as long as a request uses it, until the result is disposed of. */
  hold(compiled: CompiledWorkflowGraph): Disposable | null {
    return this.#largePlans.hold(compiled)
  }

  /** Returns the compiled form of a graph from a request of an owner. */
  compile(owner: string, graph: Graph): CompiledWorkflowGraph {
    const prepared = this.#largePlans.findByGraph(graph)
    if (prepared) return prepared
    const body = JSON.stringify(graph)
    const hash = graphKey(owner, sha256(body))
    return this.#findCached(hash) ?? this.#compileAndCache(hash, body, graph)
  }

  /** Returns the compiled form of a stored graph. */
  compileStored(hash: string): CompiledWorkflowGraph {
    const known = this.#findCached(hash)
    if (known) return known
    const body = this.textOf(hash)
    return this.#compileAndCache(hash, body, JSON.parse(body) as Graph)
  }

  /**
   * Returns the compiled form of a graph whose text is stored elsewhere. A large graph is compiled in time slices of an owner.
   * @throws what `prepare` throws
   */
  async compileText(owner: string, body: string): Promise<CompiledWorkflowGraph> {
    if (body.length <= LARGE_PAYLOAD_BYTES) return this.compile(owner, JSON.parse(body) as Graph)
    const hash = graphKey(owner, await this.slices.run(owner, textHashSteps(body)))
    return this.#findCached(hash) ?? this.#compileLargeTextOnce(owner, hash, body)
  }

  /** Returns roughly the memory that the plan of a graph takes, in bytes; 0 for a small graph. */
  bytesOf(plan: Plan): number {
    return this.#largePlans.bytesOf(plan)
  }

  /** Whether a compiled form is cached. */
  isKnown(hash: string): boolean {
    return this.#cached.has(hash) || this.#largePlans.hasHash(hash)
  }

  /** Returns the JSON text of a stored graph. */
  textOf(hash: string): string {
    const body = this.#store.read((tx) => readGraphText(tx, hash))
    if (body === undefined) throw new Error(`graph ${hash} is not stored`)
    return body
  }

  #findCached(hash: string): CompiledWorkflowGraph | undefined {
    return this.#cached.get(hash) ?? this.#largePlans.findByHash(hash)
  }

  #compileAndCache(hash: string, body: string, graph: Graph): CompiledWorkflowGraph {
    const compiled = compileGraph(graph, this.#registry)
    const { retained_bytes: bytes } = runToCompletion(estimateGraphMemorySteps(body))
    const entry = { ...compiled, sha256: hash, body, bytes, graph, etag: computeEtag(graph) }
    this.#cache(entry, new GraphMemoryReservation(this.#memory, { owner: NO_OWNER, bytes, isTaken: false }))
    return entry
  }

  #cache(entry: CompiledWorkflowGraph, room: GraphMemoryReservation): void {
    const { sha256: hash, body } = entry
    if (body.length > LARGE_PAYLOAD_BYTES) {
      this.#largePlans.add(entry, room)
      cacheJsonText(entry.graph, body)
    }
    if (!this.#cached.has(hash)) this.#cached.set(hash, entry)
  }
}

/** Advances steps that other callers may advance too. Returns null if another caller has completed them. */
function* sharedSteps<T>(steps: Steps<T>): Steps<T | null> {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value ?? null
    yield
  }
}

function* weighGraphSteps(owner: string, graph: Graph): Steps<WeighedGraph> {
  const body = yield* stringifySteps(graph)
  const hash = graphKey(owner, yield* textHashSteps(body))
  return { body, hash, memory: yield* estimateGraphMemorySteps(body) }
}

/** Whether computations on a graph may take long. */
export function isLargeGraph({ body }: CompiledWorkflowGraph): boolean {
  return body.length > LARGE_PAYLOAD_BYTES
}

const withoutUiProperties = ({ ui_properties: _, ...rest }: Record<string, unknown>) => rest

function* computeEtagSteps(graph: Graph): Steps<string> {
  const [nodes, edges] = [
    yield* mapSteps(graph.nodes, withoutUiProperties),
    yield* mapSteps(graph.edges, withoutUiProperties),
  ]
  return yield* canonicalHashSteps({ ...graph, nodes, edges })
}

function computeEtag(graph: Graph): string {
  return sha256(
    canonicalJson({
      ...graph,
      nodes: graph.nodes.map(withoutUiProperties),
      edges: graph.edges.map(withoutUiProperties),
    }),
  )
}
