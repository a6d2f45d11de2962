// The jobs that this process holds, running or queued, and the services that they use. Suspended and ended jobs are in the database only.
import type { JobSnapshot } from '../../generated/types.ts'
import type { DueJob } from '../db/jobs/rows.ts'
import { type OwnerScope, ownerScopeKey, userShareKey } from '../db/owner-scope.ts'
import type { JobTable } from '../db/schema.ts'
import type { Store } from '../db/store.ts'
import type { Plan } from '../engine/compile/compiler.ts'
import type { NodeServices, ReserveCost } from '../engine/node-api/node-services.ts'
import { NodeError } from '../engine/node-api/node-type.ts'
import type { ProcessMemoryAccount } from '../engine/runtime/run/memory-account.ts'
import { isDamagedDataError, ServiceError } from '../errors.ts'
import type { EventLog } from '../events/log.ts'
import type { Log } from '../log.ts'
import type { Platform } from '../platform.ts'
import { ChurnMap } from '../shared/churn-map.ts'
import type { TimeSliceScheduler } from '../shared/time-slices.ts'
import type { Cipher } from '../vault/vault.ts'
import { requireAcceptedPlan, requireRunnablePlan } from '../workflows/invalid-graph-error.ts'
import type { CompiledWorkflowGraph, PlanCache } from '../workflows/plan-cache.ts'
import type { WorkflowService } from '../workflows/service.ts'
import { ActiveJob, type ActiveJobHost, type ActiveJobParts, type HistoryWriteFailure } from './active-job.ts'
import type { AdditionalWrite } from './commit/commit-range.ts'
import { GraphMemoryAccount, isSmallGraph } from './graph-memory-account.ts'
import { PublishedHistory } from './history/published-history.ts'
import type { FiringMemoryAccount } from './journal/firing-memory-account.ts'
import { JournalLoader } from './journal/loader.ts'
import type { OutputPublisher } from './outputs/publication.ts'
import { JobQueue, type QueueLimits } from './queue.ts'
import { toTransientFault } from './recovery/transient-faults.ts'
import { UnreadableJobs } from './recovery/unreadable-jobs.ts'
import type { JobModelUsage } from './run/model-usage.ts'
import { buildJobSnapshot } from './snapshot.ts'
import type { SpilledValueStore } from './values/spilled-value-store.ts'
import { SteadyClock } from './waits/steady-clock.ts'

export interface ActiveJobRegistryParts {
  store: Store
  events: EventLog
  plans: PlanCache
  workflows: WorkflowService
  platform: Platform
  log: Log
  limits: QueueLimits
  /** Encrypts job journals. */
  cipher: Cipher
  /** Stores the large values of job journals. */
  spilled: SpilledValueStore
  /** The publisher that redacts and stores the values of an owner's jobs. */
  publisherOf: (owner: OwnerScope) => OutputPublisher
  /** The most bytes of values that a job may hold at once. */
  memory_limit: number
  /** The longest time limit of a new job, in seconds; null for none. */
  time_limit: number | null
  /** The account that the runs of all jobs share. */
  shared_memory: ProcessMemoryAccount & FiringMemoryAccount
  /** The services for the nodes of an owner's jobs. */
  servicesOf: (job: JobTable) => NodeServices
  /** Reserves the cost of model calls within a job's budget, given what it has paid in a currency. Absent: jobs have no budget. */
  budget?: (paid: (currency: string) => number) => ReserveCost | null
  /** Called for each job whose end is stored. */
  onEnded?: (row: JobTable) => void
}

/** The plan of a job whose graph cannot be run. */
const EMPTY_PLAN: Plan = {
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

export interface ActiveJobRegistryHooks {
  /** A job was suspended with a wake time. */
  onSuspended(job: DueJob): void
  /** The history of a job could not be written, but may be later. */
  onWriteFailed(job_key: number): void
  /** The history of a job could not be written, since its stored data is damaged. */
  onDamaged(job_key: number): void
}

/** The reason why the graph of a job cannot run: it is damaged, or this version cannot run it. */
export type PlanObstacle = 'damaged' | 'not_runnable'

export class ActiveJobRegistry implements ActiveJobHost {
  readonly parts: ActiveJobRegistryParts
  readonly events: EventLog
  readonly platform: Platform
  readonly steady: SteadyClock
  /** Deadlines by job key, for rows that may not have them yet. */
  readonly deadlines = new Map<number, number>()
  readonly log: Log
  readonly queue: JobQueue
  readonly #graphMemory = new GraphMemoryAccount()
  readonly journals: JournalLoader
  readonly unreadableJobs: UnreadableJobs
  readonly #hooks: ActiveJobRegistryHooks
  readonly #active = new ChurnMap<number, ActiveJob>()
  readonly #byId = new ChurnMap<string, ActiveJob>()
  /** Jobs whose failed writes were logged. */
  readonly #writeFailures = new Set<number>()
  #nextWrite: AdditionalWrite | null = null
  #resolveIdle: (() => void) | null = null

  constructor(parts: ActiveJobRegistryParts, hooks: ActiveJobRegistryHooks) {
    this.parts = parts
    this.events = parts.events
    this.platform = parts.platform
    this.steady = new SteadyClock(parts.store, parts.platform)
    this.log = parts.log
    this.queue = new JobQueue(parts.limits)
    this.journals = new JournalLoader(parts, parts.plans.slices)
    this.unreadableJobs = new UnreadableJobs(parts.log)
    this.#hooks = hooks
  }

  get jobs(): ActiveJob[] {
    return [...this.#active.values()]
  }

  findById(scope: OwnerScope, job_id: string): ActiveJob | null {
    return this.#byId.get(ownerScopeKey(scope, job_id)) ?? null
  }

  findByKey(job_key: number): ActiveJob | null {
    return this.#active.get(job_key) ?? null
  }

  /** Creates a job, which does not start before `requestSlot`. */
  createJob(parts: ActiveJobParts): ActiveJob {
    return new ActiveJob(parts, this)
  }

  /** Adds a job to the registry. */
  add(job: ActiveJob): void {
    this.#active.set(job.row.key, job)
    this.#byId.set(ownerScopeKey(job.row, job.row.id), job)
    const extra = this.#nextWrite
    if (extra === null) return
    job.write(extra)
    const written = () => {
      if (this.#nextWrite === extra) this.#nextWrite = null
    }
    job.flushed().then(written, () => {})
  }

  /** Writes `extra` in the transaction of the next job. */
  writeWithNext(extra: AdditionalWrite): void {
    this.#nextWrite = extra
  }

  /**
   * Compiles a large graph of a stored job in time slices, for `adopt` and other readers; null for a small or damaged graph.
   */
  preparePlan(row: JobTable): Promise<unknown> | null {
    return readUnlessDamaged(() => this.parts.plans.prepareStored(userShareKey(row), row.graph_sha256), null)
  }

  /** `preparePlan` for a new run of the job's graph: it reads slow expressions as well. */
  prepareRun(row: JobTable): Promise<unknown> | null {
    return readUnlessDamaged(() => this.parts.plans.prepareRun(userShareKey(row), row.graph_sha256), null)
  }

  /** `preparePlan`, which also keeps a large journal for `adopt` until disposal. It rejects with MemoryUnavailableError where there is no room. */
  prepare(row: JobTable): Promise<Disposable | null> | null {
    const compiling = this.preparePlan(row)
    const reading = this.journals.prepare(row)
    return compiling ? this.#prepareBoth(compiling, reading) : reading
  }

  async #prepareBoth(compiling: Promise<unknown>, reading: Promise<Disposable> | null): Promise<Disposable | null> {
    const [compiled, read] = await Promise.allSettled([compiling, reading])
    if (read.status === 'rejected') throw read.reason
    if (compiled.status === 'fulfilled') return read.value
    read.value?.[Symbol.dispose]()
    throw compiled.reason
  }

  /** Takes over a stored job. A job with an obstacle can only be ended. */
  adopt(row: JobTable): { job: ActiveJob; obstacle: PlanObstacle | null } {
    if (this.#active.has(row.key)) throw new Error(`job ${row.key} is taken over twice`)
    const found = this.#readStoredPlan(row)
    const { plan, graph_bytes } = typeof found === 'string' ? { plan: EMPTY_PLAN, graph_bytes: 0 } : found
    const read = this.journals.take(row)
    const { journal = null, publishedHistory = null } = read ?? {}
    const job = this.createJob({
      row,
      unstored: null,
      plan,
      graph_bytes,
      journal,
      publishedHistory,
      hasFollower: false,
    })
    this.add(job)
    return { job, obstacle: typeof found === 'string' ? found : null }
  }

  #readStoredPlan({ graph_sha256 }: JobTable): { plan: Plan; graph_bytes: number } | PlanObstacle {
    return readUnlessDamaged(() => {
      const { plan, bytes } = this.parts.plans.compileStored(graph_sha256)
      return plan ? { plan, graph_bytes: bytes } : 'not_runnable'
    }, 'damaged')
  }

  /** Whether a graph of `graph_bytes` may find room: there is some, or the graph is in memory already. */
  canHoldGraph(row: JobTable, graph_bytes: number): boolean {
    return this.parts.plans.isKnown(row.graph_sha256) || this.#graphMemory.hasRoom(userShareKey(row), graph_bytes)
  }

  /** Gives a job a slot or a place in the queue. @throws QUEUE_FULL; OutOfGraphMemoryError where graphs hold too much memory */
  requestSlot(job: ActiveJob): 'start' | 'wait' {
    if (!isSmallGraph(job)) this.#graphMemory.take(job)
    if (this.queue.tryTakeSlot(job)) return 'start'
    try {
      this.#graphMemory.take(job)
      this.queue.enqueue(job)
    } catch (error) {
      this.#graphMemory.release(job)
      throw error
    }
    return 'wait'
  }

  /** Puts jobs that were accepted before into the queue; see `JobQueue.restore`. */
  restore(jobs: readonly ActiveJob[]): void {
    for (const job of jobs) this.#graphMemory.hold(job)
    this.queue.restore(jobs)
  }

  /** The reason why the graph of a job cannot run; null where it can. */
  obstacle(row: JobTable): PlanObstacle | null {
    const found = this.#readStoredPlan(row)
    return typeof found === 'string' ? found : null
  }

  /** The plan with which a job was accepted. @throws INVALID_WORKFLOW_GRAPH where this version cannot run it */
  planOf(row: JobTable): Plan {
    return requireAcceptedPlan(this.parts.plans.compileStored(row.graph_sha256))
  }

  snapshot(row: JobTable): Omit<JobSnapshot, 'result'> {
    return buildJobSnapshot(row, () => {
      const job = this.#active.get(row.key)
      return (job && this.queue.position(job)) || 1
    })
  }

  /** Resolves when no job runs. */
  whenIdle(): Promise<void> {
    return new Promise((resolve) => {
      this.#resolveIdle = resolve
      this.#resolveIfIdle()
    })
  }

  #resolveIfIdle(): void {
    if (this.queue.running === 0) this.#resolveIdle?.()
  }

  // — ActiveJobHost —

  onAdmitted(job: ActiveJob): void {
    job.start()
  }

  onReleased(job: ActiveJob): void {
    this.queue.release(job)
    this.#resolveIfIdle()
  }

  isFirstWriteFailure(job_key: number): boolean {
    const isFirst = !this.#writeFailures.has(job_key)
    this.#writeFailures.add(job_key)
    return isFirst
  }

  /** The history of a job can be written again: the next failure is logged again. */
  clearWriteFailure(job_key: number): void {
    this.#writeFailures.delete(job_key)
  }

  onDetached(job: ActiveJob, loss: HistoryWriteFailure | null): void {
    // Only a job whose history could not be written can still be in the queue.
    this.queue.remove(job)
    this.#graphMemory.release(job)
    job.releaseMemory()
    if (this.#active.get(job.row.key) === job) {
      this.#active.delete(job.row.key)
      this.#byId.delete(ownerScopeKey(job.row, job.row.id))
    }
    if (loss === null) {
      this.clearWriteFailure(job.row.key)
      this.unreadableJobs.remove(job.row.key, job.terminal || job.isDetached)
    }
    if (loss === null && job.terminal) this.parts.onEnded?.(job.row)
    if (loss === 'for_now') this.#hooks.onWriteFailed(job.row.key)
    else if (loss === 'damaged') this.#hooks.onDamaged(job.row.key)
    else if (loss === null && job.isDetached) this.#notifySuspended(job.row)
  }

  #notifySuspended({ key, user_id, wake_at }: JobTable): void {
    if (wake_at !== null) this.#hooks.onSuspended({ key, user_id, wake_at })
  }

  queuePosition(job: ActiveJob): number {
    return this.queue.position(job)
  }

  get slices(): TimeSliceScheduler {
    return this.parts.plans.slices
  }

  publisherOf(owner: OwnerScope): OutputPublisher {
    return this.parts.publisherOf(owner)
  }

  get memory_limit(): number {
    return this.parts.memory_limit
  }

  get shared_memory(): ProcessMemoryAccount {
    return this.parts.shared_memory
  }

  servicesOf(job: JobTable): NodeServices {
    return this.parts.servicesOf(job)
  }

  budgetOf(spending: () => JobModelUsage): ReserveCost | null {
    return this.parts.budget?.((currency) => spending().paid(currency)) ?? null
  }

  loadPublishedHistory(row: JobTable): PublishedHistory {
    return PublishedHistory.load(this.parts.store, row.key)
  }

  /** @throws NodeError where the workflow cannot be called; transient faults unchanged */
  async loadPlan(row: JobTable, workflow_id: string, pinned: string | null): Promise<{ plan: Plan; body: string }> {
    try {
      const compiled = await (pinned === null
        ? this.#compileCalled(row, workflow_id)
        : this.parts.plans.compileText(userShareKey(row), pinned))
      // A pinned graph was accepted before, so it is not validated as a new graph.
      return { plan: (pinned === null ? requireRunnablePlan : requireAcceptedPlan)(compiled), body: compiled.body }
    } catch (error) {
      if (error instanceof ServiceError && toTransientFault(error) === null)
        throw new NodeError(`The workflow "${workflow_id}" cannot be called: ${error.message}`)
      throw error
    }
  }

  async #compileCalled(row: JobTable, workflow_id: string): Promise<CompiledWorkflowGraph> {
    await this.parts.workflows.prepare(row, workflow_id)
    return this.parts.workflows.callable(row, workflow_id)
  }

  bytesOf(plan: Plan): number {
    return this.parts.plans.bytesOf(plan)
  }
}

/** Runs `read`; returns `otherwise` where the data is damaged. */
function readUnlessDamaged<T, O>(read: () => T, otherwise: O): T | O {
  try {
    return read()
  } catch (error) {
    if (isDamagedDataError(error)) return otherwise
    throw error
  }
}
