// Jobs: every run of a workflow, whichever door it came through. It admits, finds, cancels and feeds them;
// what happens inside one is the active job's business.
import type { JobSnapshot } from '../../generated/types.ts'
import { activeJobs, lastJobKey, ownedJob, unfinishedJobs } from '../db/jobs.ts'
import type { JobTable } from '../db/schema.ts'
import { type Scope, scopedKey } from '../db/scope.ts'
import type { Store } from '../db/store.ts'
import type { Graph } from '../engine/graph.ts'
import { NodeError } from '../engine/node-type.ts'
import type { Plan } from '../engine/plan.ts'
import type { NodeServices } from '../engine/services.ts'
import { ServiceError } from '../errors.ts'
import type { EventLog } from '../events/log.ts'
import { canonicalJson, sha256 } from '../json.ts'
import type { Log } from '../log.ts'
import type { Platform } from '../platform.ts'
import { runnablePlan, summary } from '../workflows/invalid-graph.ts'
import { paramProblems } from '../workflows/params.ts'
import type { CompiledGraph, Plans } from '../workflows/plans.ts'
import type { WorkflowService } from '../workflows/service.ts'
import { ActiveJob, type JobHost } from './active-job.ts'
import { Queue, type QueueLimits } from './queue.ts'
import { snapshotOf } from './snapshot.ts'
import { isTerminal } from './states.ts'

export interface JobOptions {
  persistence: 'job' | 'session'
  event_detail: 'full' | 'outputs' | 'terminal'
  asset_persistence: 'auto' | 'temporary'
}

/** A request for a run, the same from every door. `at` names where the parameters stood, for problems. */
export interface Submission {
  workflow_id: string | null
  /** An inline graph wins over the workflow's own, and then the id is only a label. */
  graph: Graph | null
  params: Readonly<Record<string, unknown>>
  params_at: string
  /** The client's choice of an id, unique among its owner's jobs; null lets the server choose. */
  job_id: string | null
  name: string | null
  /** False: waits behind a running job of the same workflow. */
  concurrent: boolean
  timeout_seconds: number | null
  options: JobOptions
  /** Whether the submitter will follow the job from the start. */
  watched: boolean
  /** Whether values may be sent to its streamed inputs while it runs; otherwise they end at once. */
  fed: boolean
}

/** A job that was found or admitted: `active` while it lives, `row` always. */
export interface JobHandle {
  readonly row: JobTable
  readonly active: ActiveJob | null
}

export interface JobServiceParts {
  store: Store
  events: EventLog
  plans: Plans
  workflows: WorkflowService
  platform: Platform
  log: Log
  limits: QueueLimits
  /** What the nodes of a user's jobs may use. */
  servicesOf: (user_id: string) => NodeServices
  /** Seconds, or null. */
  default_timeout_seconds: number | null
}

const STOPPED = 'The server stopped while the job was running.'

export class JobService implements JobHost {
  readonly events: EventLog
  readonly platform: Platform
  readonly log: Log
  readonly #parts: JobServiceParts
  readonly #queue: Queue
  readonly #active = new Map<number, ActiveJob>()
  readonly #byId = new Map<string, ActiveJob>()
  #lastKey: number
  #draining = false
  #idle: (() => void) | null = null

  constructor(parts: JobServiceParts) {
    this.#parts = parts
    this.events = parts.events
    this.platform = parts.platform
    this.log = parts.log
    this.#queue = new Queue(parts.limits)
    this.#lastKey = parts.store.read(lastJobKey)
  }

  /**
   * Admits a job and starts it if there is room. Nothing is acknowledged before `active.accepted()` resolves.
   * The same `job_id` with the same request gives the job that there is, with `duplicate` true.
   * @throws SERVICE_UNAVAILABLE, WORKFLOW_NOT_FOUND, INVALID_WORKFLOW_GRAPH, INVALID_PARAMETERS, CONFLICT, QUEUE_FULL
   */
  submit(scope: Scope, submission: Submission): JobHandle & { duplicate: boolean } {
    const request_sha256 = submission.job_id === null ? null : requestHash(submission)
    const earlier = submission.job_id === null ? null : this.#find(scope, submission.job_id)
    if (earlier) {
      if (earlier.row.request_sha256 === request_sha256) return { ...earlier, duplicate: true }
      throw new ServiceError('CONFLICT', { message: `The job id "${submission.job_id}" was used for another request.` })
    }
    if (this.#draining) throw new ServiceError('SERVICE_UNAVAILABLE', { headers: { 'Retry-After': '10' } })
    const { compiled, workflow_id, revision } = this.#resolve(scope, submission)
    const plan = runnablePlan(compiled)
    const problems = paramProblems(plan, submission.params, submission.params_at)
    if (problems.length > 0) throw new ServiceError('INVALID_PARAMETERS', { problems, message: summary(problems) })
    const row = this.#newRow(scope, submission, { workflow_id, revision, compiled, request_sha256 })
    const active = new ActiveJob(
      {
        row,
        compiled,
        plan,
        params: submission.params,
        exclusive: !submission.concurrent,
        timeout_seconds: submission.timeout_seconds ?? this.#parts.default_timeout_seconds,
        stored: false,
        watched: submission.watched,
        fed: submission.fed,
      },
      this,
    )
    this.#admit(active)
    return { row, active, duplicate: false }
  }

  #admit(job: ActiveJob): void {
    const started = this.#queue.take(job)
    try {
      if (!started) this.#queue.wait(job)
    } catch (error) {
      this.events.abandon(job.feed)
      throw error
    }
    this.#active.set(job.row.key, job)
    this.#byId.set(scopedKey(job.row, job.row.id), job)
    job.accept()
    if (started) job.start()
    else job.enqueue()
  }

  /** The job of this id if it belongs to the caller, as it is stored. @throws JOB_NOT_FOUND */
  async get(scope: Scope, job_id: string): Promise<JobHandle> {
    const active = this.#byId.get(scopedKey(scope, job_id)) ?? null
    // Nothing is shown before it is stored.
    if (active) await active.accepted()
    const row = this.#parts.store.read((tx) => ownedJob(tx, scope, job_id))
    if (!row) throw new ServiceError('JOB_NOT_FOUND')
    if (!active && !isTerminal(row.status)) return this.#endLost(row)
    return { row, active: active?.feed.ended ? null : active }
  }

  /** Nobody runs this job, because its history could not be written: whoever asks for it ends it. */
  async #endLost(row: JobTable): Promise<JobHandle> {
    const job = this.#adopt(row)
    job.interrupt('The history of the job could not be written.')
    await job.settled()
    return { row: job.row, active: null }
  }

  /** The living job of this id if it belongs to the caller. */
  living(scope: Scope, job_id: string): ActiveJob | null {
    return this.#byId.get(scopedKey(scope, job_id)) ?? null
  }

  #find(scope: Scope, job_id: string): JobHandle | null {
    const active = this.living(scope, job_id)
    if (active) return { row: active.row, active }
    const row = this.#parts.store.read((tx) => ownedJob(tx, scope, job_id))
    return row ? { row, active: null } : null
  }

  /** Asks a job to end; one that has ended stays as it is. Gives the state after that, once it is stored. @throws JOB_NOT_FOUND */
  async cancel(scope: Scope, job_id: string): Promise<JobHandle> {
    const active = this.living(scope, job_id)
    if (active) {
      this.#queue.leave(active)
      active.cancel()
      await active.flushed()
    }
    return this.get(scope, job_id)
  }

  /** The caller's jobs that have not ended, the oldest first. */
  listActive(scope: Scope): JobTable[] {
    return this.#parts.store.read((tx) => activeJobs(tx, scope))
  }

  snapshot(handle: JobHandle): JobSnapshot {
    return snapshotOf(handle.row, () => (handle.active ? this.#queue.position(handle.active) : 1))
  }

  /** The plan that a job was accepted with. */
  planOf(row: JobTable): Plan {
    return runnablePlan(this.#parts.plans.stored(row.graph_sha256))
  }

  /** The place of a waiting job, 1 for the next. */
  position(job: ActiveJob): number {
    return this.#queue.position(job)
  }

  admitted(job: ActiveJob): void {
    job.start()
  }

  released(job: ActiveJob): void {
    this.#queue.release(job)
  }

  gone(job: ActiveJob): void {
    // Only one whose history could not be written still waits.
    this.#queue.leave(job)
    this.#active.delete(job.row.key)
    this.#byId.delete(scopedKey(job.row, job.row.id))
    this.#tellWhenIdle()
  }

  servicesOf(user_id: string): NodeServices {
    return this.#parts.servicesOf(user_id)
  }

  async loadPlan(row: JobTable, workflow_id: string): Promise<Plan> {
    try {
      return runnablePlan(this.#parts.workflows.runnable(row, workflow_id).compiled)
    } catch (error) {
      if (error instanceof ServiceError)
        throw new NodeError(`The workflow "${workflow_id}" cannot be called: ${error.message}`)
      throw error
    }
  }

  /** Ends what an earlier process left unfinished: nobody runs it any more. */
  async reconcile(): Promise<number> {
    const left = this.#parts.store.read(unfinishedJobs)
    await Promise.all(
      left.map(async (row) => {
        const job = this.#adopt(row)
        job.interrupt(STOPPED)
        await job.settled()
      }),
    )
    return left.length
  }

  /** Takes over a stored job only to end it: its graph may no longer be runnable, and need not be. */
  #adopt(row: JobTable): ActiveJob {
    const compiled = this.#parts.plans.stored(row.graph_sha256)
    const plan = compiled.plan ?? {
      inputs: [],
      outputs: [],
      nodes: [],
      streamEdges: 0,
      roots: [],
      indexById: new Map(),
    }
    const job = new ActiveJob(
      {
        row,
        compiled,
        plan,
        params: {},
        exclusive: false,
        timeout_seconds: null,
        stored: true,
        watched: false,
        fed: false,
      },
      this,
    )
    this.#active.set(row.key, job)
    this.#byId.set(scopedKey(row, row.id), job)
    return job
  }

  /** Refuses new jobs from now on, waits up to `ms` for those that run, and ends the rest as failed. */
  async drain(ms: number): Promise<void> {
    this.#draining = true
    const deadline = setTimeout(() => this.#interruptAll(), ms)
    await new Promise<void>((resolve) => {
      this.#idle = resolve
      this.#tellWhenIdle()
    })
    clearTimeout(deadline)
  }

  get draining(): boolean {
    return this.#draining
  }

  #interruptAll(): void {
    this.#queue.clear()
    for (const job of this.#active.values()) job.interrupt(STOPPED)
  }

  #tellWhenIdle(): void {
    if (this.#draining && this.#active.size === 0) this.#idle?.()
  }

  #resolve(scope: Scope, { workflow_id, graph }: Submission) {
    if (graph) {
      const compiled = this.#parts.plans.compile(graph)
      return { compiled, workflow_id: workflow_id ?? this.platform.id('wf'), revision: null }
    }
    if (workflow_id === null)
      throw new ServiceError('INVALID_REQUEST', { message: 'Either workflow_id or graph is required.' })
    return this.#parts.workflows.runnable(scope, workflow_id)
  }

  #newRow(
    scope: Scope,
    submission: Submission,
    of: { workflow_id: string; revision: number | null; compiled: CompiledGraph; request_sha256: string | null },
  ): JobTable {
    const now = this.platform.timestamp()
    return {
      key: ++this.#lastKey,
      id: submission.job_id ?? this.platform.id('job'),
      user_id: scope.user_id,
      workspace_id: scope.workspace_id,
      workflow_id: of.workflow_id,
      workflow_etag: submission.graph ? null : of.compiled.etag,
      workflow_revision: of.revision,
      graph_sha256: of.compiled.sha256,
      name: submission.name,
      status: 'pending',
      request_sha256: of.request_sha256,
      options: JSON.stringify(submission.options),
      attempt: 1,
      last_sequence: 0,
      error: null,
      result: null,
      created_at: now,
      updated_at: now,
      started_at: null,
      finished_at: null,
      seed: null,
      waiting: null,
      wake_at: null,
    }
  }
}

function requestHash({ workflow_id, graph, params, name, concurrent, timeout_seconds, options }: Submission): string {
  const request = { workflow_id, graph, params, name, concurrent, timeout_seconds, options }
  return sha256(canonicalJson(request))
}
