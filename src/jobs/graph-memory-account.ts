// Limits the memory of the compiled graphs of this process's jobs. A graph that came with a request is held by its job alone, maybe for long. Jobs of one
// workflow share its plan, which counts once for their owner.
import type { Plan } from '../engine/compile/compiler.ts'
import { ServiceError } from '../errors.ts'
import { heapShareBytes } from '../payloads/fair-memory-account.ts'
import { FairShareLimit } from '../shared/fair-share.ts'

const PART_OF_HEAP = 0.125
/** The most that one graph counts, as a part of the limit. So any graph finds room while little is held, and leaves some to others. */
const ONE_GRAPH = 0.5
/** Bytes. A smaller graph of a job that starts at once does not count, since few jobs run at a time. */
const SMALL_GRAPH = 1_048_576

/** A job, as the account counts it. */
export interface GraphHolder {
  readonly user: string
  readonly plan: Plan
  /** The approximate memory of the compiled graph. */
  readonly graph_bytes: number
}

/** A plan that jobs of an owner hold. */
interface HeldPlan {
  readonly bytes: number
  jobs: number
}

/** QUEUE_FULL: there is no room for the graph of a job. A smaller graph may still find room. */
export class OutOfGraphMemoryError extends ServiceError {
  readonly graph_bytes: number

  constructor(graph_bytes: number) {
    super('QUEUE_FULL', { headers: { 'Retry-After': '5' } })
    this.graph_bytes = graph_bytes
  }
}

/** Whether the graph is so small that it does not count if the job runs at once. */
export function isSmallGraph({ graph_bytes }: Pick<GraphHolder, 'graph_bytes'>): boolean {
  return graph_bytes <= SMALL_GRAPH
}

export class GraphMemoryAccount {
  readonly #shares: FairShareLimit
  readonly #jobs = new Set<GraphHolder>()
  readonly #plans = new Map<string, Map<Plan, HeldPlan>>()

  /** `limit`: bytes of all owners together. */
  constructor(limit = heapShareBytes(PART_OF_HEAP)) {
    this.#shares = new FairShareLimit(limit)
  }

  /** Counts the graph of a job until `release`. @throws OutOfGraphMemoryError where there is no room, or the owner has its share */
  take(job: GraphHolder): void {
    const { user, plan } = job
    const isHeld = this.#plans.get(user)?.has(plan) === true
    if (!isHeld && !this.hasRoom(user, job.graph_bytes)) throw new OutOfGraphMemoryError(job.graph_bytes)
    this.hold(job)
  }

  /** Whether an owner has room for a graph that none of its jobs holds yet. */
  hasRoom(user: string, graph_bytes: number): boolean {
    return this.#shares.hasRoom(user, this.#countedBytes(graph_bytes))
  }

  #countedBytes(graph_bytes: number): number {
    return Math.min(graph_bytes, this.#shares.limit * ONE_GRAPH)
  }

  /** Counts the graph of a job that was accepted before, even beyond the limit. */
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

  /** Stops counting a graph. It does nothing for a job that does not count. */
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
