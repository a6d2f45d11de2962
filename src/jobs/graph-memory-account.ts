// How much memory the compiled graphs take of the jobs that this process has. A graph that came with a request is held by its job alone, maybe for long;
// jobs of one workflow share its plan, which counts once for their owner.
import type { Plan } from '../engine/compile/compiler.ts'
import { ServiceError } from '../errors.ts'
import { heapShareBytes } from '../payloads/fair-memory-account.ts'
import { FairShareLimit } from '../shared/fair-share.ts'

const PART_OF_HEAP = 0.125
/** What one graph counts at the most, as a part of what all may hold: it finds room where not much is held, however large it is, and leaves some to others. */
const ONE_GRAPH = 0.5
/** Bytes. A smaller graph of a job that starts at once does not count: not many run. */
const SMALL_GRAPH = 1_048_576

/** What counts of a job. */
export interface GraphHolder {
  readonly user: string
  readonly plan: Plan
  /** About how much memory it takes. */
  readonly graph_bytes: number
}

/** A plan as an owner's jobs hold it. */
interface HeldPlan {
  readonly bytes: number
  jobs: number
}

/** QUEUE_FULL: there is no room for the graph of a job. One with a small graph may find some. */
export class OutOfGraphMemoryError extends ServiceError {
  readonly graph_bytes: number

  constructor(graph_bytes: number) {
    super('QUEUE_FULL', { headers: { 'Retry-After': '5' } })
    this.graph_bytes = graph_bytes
  }
}

/** Whether a job is not worth counting if it runs at once. */
export function isSmallGraph({ graph_bytes }: Pick<GraphHolder, 'graph_bytes'>): boolean {
  return graph_bytes <= SMALL_GRAPH
}

export class GraphMemoryAccount {
  readonly #shares: FairShareLimit
  readonly #jobs = new Set<GraphHolder>()
  readonly #plans = new Map<string, Map<Plan, HeldPlan>>()

  /** `limit`: in bytes, all owners together. */
  constructor(limit = heapShareBytes(PART_OF_HEAP)) {
    this.#shares = new FairShareLimit(limit)
  }

  /** Counts the graph of a job until `release`. @throws NoGraphRoom where there is none for it, or its owner has its share */
  take(job: GraphHolder): void {
    const { user, plan } = job
    const isHeld = this.#plans.get(user)?.has(plan) === true
    if (!isHeld && !this.hasRoom(user, job.graph_bytes)) throw new OutOfGraphMemoryError(job.graph_bytes)
    this.hold(job)
  }

  /** Whether an owner's job finds room for a graph that none of their jobs holds. */
  hasRoom(user: string, graph_bytes: number): boolean {
    return this.#shares.hasRoom(user, this.#countedBytes(graph_bytes))
  }

  #countedBytes(graph_bytes: number): number {
    return Math.min(graph_bytes, this.#shares.limit * ONE_GRAPH)
  }

  /** The same of a job that was accepted before: there is no question of room. */
  hold(job: GraphHolder): void {
    if (this.#jobs.has(job)) return
    this.#jobs.add(job)
    const { user, plan } = job
    const plans = this.#plans.get(user) ?? new Map<Plan, HeldPlan>()
    this.#plans.set(user, plans)
    const held = plans.get(plan)
    if (held) held.jobs++
    else {
      const bytes = this.#countedBytes(job.graph_bytes)
      plans.set(plan, { bytes, jobs: 1 })
      this.#shares.add(user, bytes)
    }
  }

  /** Without effect on a job that does not count. */
  release(job: GraphHolder): void {
    if (!this.#jobs.delete(job)) return
    const { user, plan } = job
    const plans = this.#plans.get(user)!
    const held = plans.get(plan)!
    if (--held.jobs > 0) return
    plans.delete(plan)
    if (plans.size === 0) this.#plans.delete(user)
    this.#shares.add(user, -held.bytes)
  }
}
