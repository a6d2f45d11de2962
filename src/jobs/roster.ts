// The jobs that this process has: those that run, those that wait for their turn, and what they need of their surroundings. Those that wait
// for something outside, and those that have ended, are in the database only.
import type { JobSnapshot } from '../../generated/types.ts'
import type { DueJob } from '../db/jobs.ts'
import type { JobTable } from '../db/schema.ts'
import { type Scope, scopedKey, userKey } from '../db/scope.ts'
import type { Store } from '../db/store.ts'
import type { SharedMemory } from '../engine/held-values.ts'
import { NodeError } from '../engine/node-type.ts'
import type { Plan } from '../engine/plan.ts'
import type { Hold, NodeServices } from '../engine/services.ts'
import { isDamage, ServiceError } from '../errors.ts'
import type { EventLog } from '../events/log.ts'
import type { Log } from '../log.ts'
import type { Platform } from '../platform.ts'
import { ShiftingMap } from '../shifting-map.ts'
import type { TimeSlices } from '../time-slices.ts'
import type { Cipher } from '../vault/vault.ts'
import { acceptedPlan, runnablePlan } from '../workflows/invalid-graph.ts'
import type { CompiledGraph, Plans } from '../workflows/plans.ts'
import type { WorkflowService } from '../workflows/service.ts'
import { ActiveJob, type ActiveJobParts, type JobHost, type Loss } from './active-job.ts'
import type { FiringAccount } from './firing-memory.ts'
import { GraphMemory, isSmallGraph } from './graph-memory.ts'
import { Memories } from './memories.ts'
import { momentaryFault } from './momentary.ts'
import type { Publisher } from './publication.ts'
import { Queue, type QueueLimits } from './queue.ts'
import { snapshotOf } from './snapshot.ts'
import type { Spending } from './spending.ts'
import type { SpilledValues } from './spilled-values.ts'
import { SteadyClock } from './steady-clock.ts'
import { Told } from './told.ts'
import { UnreadableJobs } from './unreadable-jobs.ts'
import type { Extra } from './writer.ts'

export interface RosterParts {
  store: Store
  events: EventLog
  plans: Plans
  workflows: WorkflowService
  platform: Platform
  log: Log
  limits: QueueLimits
  /** Seals what jobs remember. */
  cipher: Cipher
  /** Where the large values lie that jobs remember. */
  spilled: SpilledValues
  /** What makes values of an owner's jobs fit to be shown. */
  publisherOf: (owner: Scope) => Publisher
  /** In bytes, of the values that a job holds at once. */
  memory_limit: number
  /** In seconds, of a new job, whatever its request says; null for none. */
  time_limit: number | null
  /** What the runs of all jobs share. */
  shared_memory: SharedMemory & FiringAccount
  /** What the nodes of an owner's jobs may use. */
  servicesOf: (job: JobTable) => NodeServices
  /** What holds a job to what it may cost, by what it has paid in a currency so far. Absent: nothing does. */
  budget?: (paid: (currency: string) => number) => Hold | null
  /** Hears of each job that has ended, once it is stored. */
  ended?: (row: JobTable) => void
}

/** What a job is that nobody can run, because of its graph. */
const NO_PLAN: Plan = {
  inputs: [],
  outputs: [],
  nodes: [],
  streamEdges: 0,
  roots: [],
  regions: null,
  indexById: new Map(),
  inputByName: new Map(),
  outputByName: new Map(),
}

export interface RosterHooks {
  /** A job waits for something outside, and is to be seen to at some time. */
  rested(job: DueJob): void
  /** The history of a job could not be written, though the job may be stored. */
  lost(job_key: number): void
  /** Nor will it be: something that is stored of the job is damaged. */
  damaged(job_key: number): void
}

/** What stands against running the graph of a job: it is damaged, or not one that this version can run. */
export type Obstacle = 'damaged' | 'not_runnable'

export class Roster implements JobHost {
  readonly parts: RosterParts
  readonly events: EventLog
  readonly platform: Platform
  readonly steady: SteadyClock
  /** By job, when its time is over, where its row may not keep that yet. */
  readonly deadlines = new Map<number, number>()
  readonly log: Log
  readonly queue: Queue
  readonly #graphs = new GraphMemory()
  readonly memories: Memories
  readonly unreadable: UnreadableJobs
  readonly #hooks: RosterHooks
  readonly #active = new ShiftingMap<number, ActiveJob>()
  readonly #byId = new ShiftingMap<string, ActiveJob>()
  /** Jobs whose history could not be written, as the log was told. */
  readonly #lost = new Set<number>()
  #withNext: Extra | null = null
  #idle: (() => void) | null = null

  constructor(parts: RosterParts, hooks: RosterHooks) {
    this.parts = parts
    this.events = parts.events
    this.platform = parts.platform
    this.steady = new SteadyClock(parts.store, parts.platform)
    this.log = parts.log
    this.queue = new Queue(parts.limits)
    this.memories = new Memories(parts, parts.plans.slices)
    this.unreadable = new UnreadableJobs(parts.log)
    this.#hooks = hooks
  }

  /** The jobs that this process has. */
  get all(): ActiveJob[] {
    return [...this.#active.values()]
  }

  living(scope: Scope, job_id: string): ActiveJob | null {
    return this.#byId.get(scopedKey(scope, job_id)) ?? null
  }

  byKey(job_key: number): ActiveJob | null {
    return this.#active.get(job_key) ?? null
  }

  /** A job that does not begin before `enter`. */
  make(parts: ActiveJobParts): ActiveJob {
    return new ActiveJob(parts, this)
  }

  /** Takes a job in; it counts from now on. */
  add(job: ActiveJob): void {
    this.#active.set(job.row.key, job)
    this.#byId.set(scopedKey(job.row, job.row.id), job)
    const extra = this.#withNext
    if (extra === null) return
    job.write(extra)
    const written = () => {
      if (this.#withNext === extra) this.#withNext = null
    }
    job.flushed().then(written, () => {})
  }

  /** Writes `extra` with the first job that is written from now on. */
  writeWithNext(extra: Extra): void {
    this.#withNext = extra
  }

  /**
   * Compiles the graph of a stored job in time slices where it is large, so that `adopt` and the like find it; null where it is small, or damaged.
   */
  preparePlan(row: JobTable): Promise<unknown> | null {
    return unlessDamaged(() => this.parts.plans.prepareStored(userKey(row), row.graph_sha256), null)
  }

  /** The same for a new run of the job's graph: its slow expressions are read as well. */
  prepareRun(row: JobTable): Promise<unknown> | null {
    return unlessDamaged(() => this.parts.plans.prepareRun(userKey(row), row.graph_sha256), null)
  }

  /** As `preparePlan`, and reads what the job remembers where that is much, for `adopt`, until it is disposed of. It rejects with NoRoom where there is none for that. */
  prepare(row: JobTable): Promise<Disposable | null> | null {
    const compiling = this.preparePlan(row)
    const reading = this.memories.prepare(row)
    return compiling ? this.#prepareBoth(compiling, reading) : reading
  }

  async #prepareBoth(compiling: Promise<unknown>, reading: Promise<Disposable> | null): Promise<Disposable | null> {
    const [compiled, read] = await Promise.allSettled([compiling, reading])
    if (read.status === 'rejected') throw read.reason
    if (compiled.status === 'fulfilled') return read.value
    read.value?.[Symbol.dispose]()
    throw compiled.reason
  }

  /** Takes over a stored job, which may be one that can only be ended. */
  adopt(row: JobTable): { job: ActiveJob; obstacle: Obstacle | null } {
    if (this.#active.has(row.key)) throw new Error(`job ${row.key} is taken over twice`)
    const found = this.#storedPlan(row)
    const { plan, graph_bytes } = typeof found === 'string' ? { plan: NO_PLAN, graph_bytes: 0 } : found
    const read = this.memories.take(row)
    const { memory = null, told = null } = read ?? {}
    const job = this.make({ row, unstored: null, plan, graph_bytes, memory, told, watched: false })
    this.add(job)
    return { job, obstacle: typeof found === 'string' ? found : null }
  }

  #storedPlan({ graph_sha256 }: JobTable): { plan: Plan; graph_bytes: number } | Obstacle {
    return unlessDamaged(() => {
      const { plan, bytes } = this.parts.plans.stored(graph_sha256)
      return plan ? { plan, graph_bytes: bytes } : 'not_runnable'
    }, 'damaged')
  }

  /** Whether the graph of a stored job, of so many bytes, may find room: there is some, or it is in memory already. */
  mayHold(row: JobTable, graph_bytes: number): boolean {
    return this.parts.plans.isKnown(row.graph_sha256) || this.#graphs.hasRoom(userKey(row), graph_bytes)
  }

  /** Runs a job as soon as there is room: at once, or after those that wait. @throws QUEUE_FULL; NoGraphRoom where too much memory is held by graphs */
  enter(job: ActiveJob): 'start' | 'wait' {
    if (!isSmallGraph(job)) this.#graphs.take(job)
    if (this.queue.take(job)) return 'start'
    try {
      this.#graphs.take(job)
      this.queue.wait(job)
    } catch (error) {
      this.#graphs.release(job)
      throw error
    }
    return 'wait'
  }

  /** Has jobs wait that were accepted before, as `restore` of the queue says. */
  restore(jobs: readonly ActiveJob[]): void {
    for (const job of jobs) this.#graphs.hold(job)
    this.queue.restore(jobs)
  }

  /** What stands against running the graph of a job; null: nothing. */
  obstacle(row: JobTable): Obstacle | null {
    const found = this.#storedPlan(row)
    return typeof found === 'string' ? found : null
  }

  /** The plan that a job was accepted with. @throws INVALID_WORKFLOW_GRAPH where this version cannot run it */
  planOf(row: JobTable): Plan {
    return acceptedPlan(this.parts.plans.stored(row.graph_sha256))
  }

  snapshot(row: JobTable): Omit<JobSnapshot, 'result'> {
    return snapshotOf(row, () => {
      const job = this.#active.get(row.key)
      return (job && this.queue.position(job)) || 1
    })
  }

  /** Resolves when nothing runs. */
  whenIdle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle = resolve
      this.#tellWhenIdle()
    })
  }

  #tellWhenIdle(): void {
    if (this.queue.running === 0) this.#idle?.()
  }

  // — what its jobs ask —

  admitted(job: ActiveJob): void {
    job.start()
  }

  released(job: ActiveJob): void {
    this.queue.release(job)
    this.#tellWhenIdle()
  }

  isFirstLoss(job_key: number): boolean {
    const isFirst = !this.#lost.has(job_key)
    this.#lost.add(job_key)
    return isFirst
  }

  /** The history of a job can be written again: the next loss is told as the first one was. */
  written(job_key: number): void {
    this.#lost.delete(job_key)
  }

  gone(job: ActiveJob, loss: Loss | null): void {
    // Only one whose history could not be written still waits.
    this.queue.leave(job)
    this.#graphs.release(job)
    job.letGo()
    if (this.#active.get(job.row.key) === job) {
      this.#active.delete(job.row.key)
      this.#byId.delete(scopedKey(job.row, job.row.id))
    }
    if (loss === null) {
      this.written(job.row.key)
      this.unreadable.gone(job.row.key, job.terminal || job.resting)
    }
    if (loss === null && job.terminal) this.parts.ended?.(job.row)
    if (loss === 'for_now') this.#hooks.lost(job.row.key)
    else if (loss === 'damaged') this.#hooks.damaged(job.row.key)
    else if (loss === null && job.resting) this.#rested(job.row)
  }

  #rested({ key, user_id, wake_at }: JobTable): void {
    if (wake_at !== null) this.#hooks.rested({ key, user_id, wake_at })
  }

  position(job: ActiveJob): number {
    return this.queue.position(job)
  }

  get slices(): TimeSlices {
    return this.parts.plans.slices
  }

  publisherOf(owner: Scope): Publisher {
    return this.parts.publisherOf(owner)
  }

  get memory_limit(): number {
    return this.parts.memory_limit
  }

  get shared_memory(): SharedMemory {
    return this.parts.shared_memory
  }

  servicesOf(job: JobTable): NodeServices {
    return this.parts.servicesOf(job)
  }

  budgetOf(spending: () => Spending): Hold | null {
    return this.parts.budget?.((currency) => spending().paid(currency)) ?? null
  }

  told(row: JobTable): Told {
    return Told.of(this.parts.store, row.key)
  }

  /** @throws NodeError where the workflow cannot be called; what is momentary as it is */
  async loadPlan(row: JobTable, workflow_id: string, pinned: string | null): Promise<{ plan: Plan; body: string }> {
    try {
      const compiled = await (pinned === null
        ? this.#called(row, workflow_id)
        : this.parts.plans.ofText(userKey(row), pinned))
      // What it called before it calls again as it was.
      return { plan: (pinned === null ? runnablePlan : acceptedPlan)(compiled), body: compiled.body }
    } catch (error) {
      if (error instanceof ServiceError && momentaryFault(error) === null)
        throw new NodeError(`The workflow "${workflow_id}" cannot be called: ${error.message}`)
      throw error
    }
  }

  async #called(row: JobTable, workflow_id: string): Promise<CompiledGraph> {
    await this.parts.workflows.prepare(row, workflow_id)
    return this.parts.workflows.callable(row, workflow_id)
  }

  bytesOf(plan: Plan): number {
    return this.parts.plans.bytesOf(plan)
  }
}

/** What `read` gives, or `otherwise` where that is damaged. */
function unlessDamaged<T, O>(read: () => T, otherwise: O): T | O {
  try {
    return read()
  } catch (error) {
    if (isDamage(error)) return otherwise
    throw error
  }
}
