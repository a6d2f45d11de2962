// The jobs that this process holds, running or queued. Suspended and ended jobs are in the database only.
import type { JobSnapshot } from '../../generated/types.ts'
import type { DueJob } from '../db/jobs/rows.ts'
import { type OwnerScope, ownerScopeKey, userShareKey } from '../db/owner-scope.ts'
import type { JobTable } from '../db/tables/jobs.ts'
import { ChurnMap } from '../shared/churn-map.ts'
import { ActiveJob, type ActiveJobHost } from './active-job.ts'
import type { ActiveJobParts } from './active-job-components.ts'
import type { AdditionalWrite } from './commit/commit-range.ts'
import { GraphMemoryAccount, isSmallGraph } from './graph-memory-account.ts'
import { createJobContext, type JobContext, type JobContextParts } from './job-context.ts'
import { JobQueue, type QueueLimits } from './queue.ts'
import type { HistoryWriteFailure } from './recovery/write-failure.ts'
import { buildJobSnapshot } from './snapshot.ts'
import { type PlanObstacle, preparePlan, readStoredPlan } from './stored-plans.ts'

export interface ActiveJobRegistryParts extends JobContextParts {
  limits: QueueLimits
  /** Called for each job whose end is stored. */
  onEnded?: (row: JobTable) => void
}

export interface ActiveJobRegistryHooks {
  /** A job was suspended with a wake time. */
  onSuspended(job: DueJob): void
  /** The history of a job could not be written, but may be later. */
  onWriteFailed(job_key: number): void
  /** The history of a job could not be written, since its stored data is damaged. */
  onDamaged(job_key: number): void
}

/** A job that was found or admitted. `active` is set while this process holds the job. */
export interface JobHandle {
  readonly row: JobTable
  readonly active: ActiveJob | null
}

export class ActiveJobRegistry implements ActiveJobHost {
  readonly context: JobContext
  readonly queue: JobQueue
  readonly #graphMemory = new GraphMemoryAccount()
  readonly #onEnded: (row: JobTable) => void
  readonly #hooks: ActiveJobRegistryHooks
  readonly #active = new ChurnMap<number, ActiveJob>()
  readonly #byId = new ChurnMap<string, ActiveJob>()
  /** Jobs whose failed writes were logged. */
  readonly #writeFailures = new Set<number>()
  #nextWrite: AdditionalWrite | null = null
  #resolveIdle: (() => void) | null = null

  constructor({ limits, onEnded = () => {}, ...shared }: ActiveJobRegistryParts, hooks: ActiveJobRegistryHooks) {
    this.context = createJobContext(shared)
    this.queue = new JobQueue(limits)
    this.#onEnded = onEnded
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

  /** The handle of a stored job. */
  handleOf(row: JobTable): JobHandle {
    return { row, active: this.findByKey(row.key) }
  }

  /** Creates a job, which does not start before `requestSlot`. */
  createJob(parts: ActiveJobParts): ActiveJob {
    return new ActiveJob(parts, this.context, this)
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
   * Compiles a large graph of a stored job in time slices, and reads a large journal, for `adopt`. The journal is kept until disposal. It rejects with
   * MemoryUnavailableError where there is no room.
   */
  prepare(row: JobTable): Promise<Disposable | null> | null {
    const compiling = preparePlan(this.context.plans, row)
    const reading = this.context.journals.prepare(row)
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
    const { obstacle, ...planned } = readStoredPlan(this.context.plans, row)
    const loaded = this.context.journals.take(row)
    const job = this.createJob({ row, unstored: null, ...planned, loaded, hasFollower: false })
    this.add(job)
    return { job, obstacle }
  }

  /** Whether a graph of `graph_bytes` may find room: there is some, or the graph is in memory already. */
  canHoldGraph(row: JobTable, graph_bytes: number): boolean {
    return this.context.plans.isKnown(row.graph_sha256) || this.#graphMemory.hasRoom(userShareKey(row), graph_bytes)
  }

  /** Gives a job a slot or a place in the queue. @throws QUEUE_FULL; OutOfGraphMemoryError where graphs hold too much memory */
  requestSlot(job: ActiveJob): 'start' | 'wait' {
    if (!isSmallGraph(job)) this.#graphMemory.take(job)
    if (this.queue.tryTakeSlot(job.admission)) return 'start'
    try {
      this.#graphMemory.take(job)
      this.queue.enqueue(job.admission)
    } catch (error) {
      this.#graphMemory.release(job)
      throw error
    }
    return 'wait'
  }

  /** Puts jobs that were accepted before into the queue; see `JobQueue.restore`. */
  restore(jobs: readonly ActiveJob[]): void {
    for (const job of jobs) this.#graphMemory.hold(job)
    this.queue.restore(jobs.map(({ admission }) => admission))
  }

  snapshot(row: JobTable): Omit<JobSnapshot, 'result'> {
    return buildJobSnapshot(row, () => {
      const job = this.#active.get(row.key)
      return (job && this.queuePosition(job)) || 1
    })
  }

  /** The position of a waiting job among those of its owner; 1 is the first. */
  queuePosition(job: ActiveJob): number {
    return this.queue.position(job.admission)
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

  onReleased(job: ActiveJob): void {
    this.queue.release(job.admission)
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
    const { row } = job
    // Only a job whose history could not be written can still be in the queue.
    this.queue.remove(job.admission)
    this.#graphMemory.release(job)
    if (this.#active.get(row.key) === job) {
      this.#active.delete(row.key)
      this.#byId.delete(ownerScopeKey(row, row.id))
    }
    if (loss === 'for_now') this.#hooks.onWriteFailed(row.key)
    else if (loss === 'damaged') this.#hooks.onDamaged(row.key)
    else if (loss === null) this.#onStored(job)
  }

  /** A job has left the process with all that it has to store. */
  #onStored({ row, terminal, isDetached }: ActiveJob): void {
    this.clearWriteFailure(row.key)
    this.context.unreadableJobs.remove(row.key, terminal || isDetached)
    const { key, user_id, wake_at } = row
    if (terminal) this.#onEnded(row)
    else if (isDetached && wake_at !== null) this.#hooks.onSuspended({ key, user_id, wake_at })
  }
}
