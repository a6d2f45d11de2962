// The service for jobs: every run of a workflow, through any transport, is a job. It admits, finds, cancels, resumes and retries jobs, and recovers those
// of an earlier process. The active job handles what happens inside of one job.
import { setImmediate } from 'node:timers/promises'
import type { JobSnapshot } from '../../generated/types.ts'
import { isResultUnread } from '../db/jobs/result-parts.ts'
import { findJobByKey, findLastJobKey } from '../db/jobs/rows.ts'
import { type OwnerScope, ownerScopeKey, userShareKey } from '../db/owner-scope.ts'
import type { JobTable } from '../db/tables/jobs.ts'
import type { Plan } from '../engine/compile/compiler.ts'
import { ServiceError } from '../errors.ts'
import type { RunDefaults } from '../settings/definitions.ts'
import type { Steps } from '../shared/time-slices.ts'
import type { ActiveJob } from './active-job.ts'
import { ActiveJobRegistry, type ActiveJobRegistryParts, type JobHandle } from './active-job-registry.ts'
import { waitUntilSettled } from './history/settled-job.ts'
import type { JobContext } from './job-context.ts'
import { JobLookup, type ListedJob } from './job-lookup.ts'
import type { AdmissionForecast } from './queue.ts'
import { JobRecovery, type RecoveryCounts } from './recovery/job-recovery.ts'
import { takeStopMark, writeStopMark } from './recovery/stop-mark.ts'
import { prepareRetry } from './retry/job-retry.ts'
import { PrewrittenPagesRegistry } from './retry/prewritten-journal-pages.ts'
import { readResultText } from './snapshot.ts'
import { isTerminal } from './state-machine.ts'
import { preparePlan, prepareRunPlan, requireStoredPlan } from './stored-plans.ts'
import { EarlierSubmissions } from './submission/earlier-submissions.ts'
import type { JobSubmission, UnkeyedSubmission } from './submission/new-job.ts'
import { createOutcomeUnknownError } from './submission/outcome-unknown-error.ts'
import { SubmissionPreparer } from './submission/submission-preparer.ts'
import { JobResumer } from './waits/job-resumer.ts'
import { type WaitAnswer, WaitAnswers } from './waits/wait-answers.ts'

export type { JobHandle } from './active-job-registry.ts'
export type { ListedJob } from './job-lookup.ts'
export type { JobSubmission, UnkeyedSubmission } from './submission/new-job.ts'
export type { JobOptions } from './submission/stored-options.ts'

/** The job of a submission. */
export type SubmittedJob = NewJob | DuplicateJob

export interface NewJob extends JobHandle {
  readonly active: ActiveJob
  readonly duplicate: false
}

/** The existing job of a repeated request with the same `job_id` or idempotency key. */
export interface DuplicateJob extends JobHandle {
  readonly duplicate: true
}

export interface JobServiceParts extends ActiveJobRegistryParts {
  /** The owner's default options for runs whose requests do not set them. */
  defaultsOf(owner: OwnerScope): RunDefaults
}

export class JobService {
  readonly earlierSubmissions: EarlierSubmissions
  readonly #registry: ActiveJobRegistry
  readonly #context: JobContext
  readonly #recovery: JobRecovery
  readonly #resumer: JobResumer
  readonly #lookup: JobLookup
  readonly #answers: WaitAnswers
  readonly #preparer: SubmissionPreparer
  readonly #prewrittenPages: PrewrittenPagesRegistry
  /** Aborts when no more jobs are accepted, and when the running jobs leave the process. */
  readonly #drainController = new AbortController()
  readonly #stopController = new AbortController()
  #lastKey: number

  constructor(parts: JobServiceParts) {
    this.#registry = new ActiveJobRegistry(parts, {
      onSuspended: (job) => this.#resumer.addSuspended(job),
      onWriteFailed: (job_key) => {
        this.#recovery.addStray(job_key)
        this.#resumer.addWriteFailure(job_key)
      },
      onDamaged: (job_key) => this.#recovery.endDamaged(job_key),
    })
    const draining = this.#drainController.signal
    this.#context = this.#registry.context
    this.#recovery = new JobRecovery(this.#registry)
    this.#resumer = new JobResumer(this.#registry)
    this.#lookup = new JobLookup(this.#registry, this.#recovery, draining)
    this.#answers = new WaitAnswers(this.#registry, this.#lookup, draining)
    this.#preparer = new SubmissionPreparer(this.#context, (owner) => parts.defaultsOf(owner))
    this.#prewrittenPages = new PrewrittenPagesRegistry(parts.store, this.#stopController.signal)
    this.earlierSubmissions = new EarlierSubmissions(this.#registry, this.#lookup)
    this.#lastKey = parts.store.read(findLastJobKey)
  }

  /** Keys of jobs that are about to be stored: their prewritten pages must not be removed. */
  get early_keys(): ReadonlySet<number> {
    return this.#prewrittenPages.keys
  }

  /** Takes over the unfinished jobs of an earlier process. None of them runs before `startRestored`. */
  async restore(): Promise<RecoveryCounts> {
    const orderly = await takeStopMark(this.#context.store, (clear) => this.#registry.writeWithNext(clear))
    return this.#recovery.restore(orderly)
  }

  /** Lets the restored jobs run as slots are free. */
  startRestored(): void {
    this.#registry.queue.admitRestored()
    this.#resumer.scheduleWake()
  }

  /**
   * Does the long work before a submission, in time slices of the owner; null where there is none. `submit` uses the results.
   * @throws REQUEST_TOO_LARGE, MemoryUnavailableError, SERVICE_UNAVAILABLE; nothing is accepted then
   */
  prepare(scope: OwnerScope, submission: JobSubmission): Promise<unknown> | null {
    return this.#preparer.prepare(scope, submission)
  }

  /**
   * Admits a job, and starts it if a slot is free. Callers must acknowledge it only after `active.accepted()` resolves. A repeated request with the same
   * `job_id` or idempotency key gets the existing job.
   * @throws SERVICE_UNAVAILABLE, WORKFLOW_NOT_FOUND, WORKFLOW_REVISION_CONFLICT, INVALID_WORKFLOW_GRAPH, INVALID_PARAMETERS, CONFLICT,
   * IDEMPOTENCY_CONFLICT, QUEUE_FULL
   */
  submit(scope: OwnerScope, submission: UnkeyedSubmission): NewJob
  submit(scope: OwnerScope, submission: JobSubmission): SubmittedJob
  submit(scope: OwnerScope, submission: JobSubmission): SubmittedJob {
    const { job_id, idempotency_key: key = null } = submission
    const request_sha256 = job_id === null && key === null ? null : this.#preparer.hashOf(submission)
    const earlier = request_sha256 === null ? null : this.earlierSubmissions.find(scope, submission, request_sha256)
    if (earlier) return { ...earlier, duplicate: true }
    this.#requireAccepting()
    const digest = request_sha256 === null ? null : this.#context.request_digests.protect(request_sha256)
    const parts = this.#preparer.createParts(scope, submission, { nextKey: () => ++this.#lastKey, digest })
    const job = this.#registry.createJob(parts)
    this.#admit(job, () => {
      if (key !== null) this.earlierSubmissions.storeKey(scope, key, digest!, job)
    })
    return { row: job.row, active: job, duplicate: false }
  }

  /** @throws SERVICE_UNAVAILABLE */
  #requireAccepting(): void {
    if (this.draining) throw new ServiceError('SERVICE_UNAVAILABLE')
  }

  /** `before` runs once the job has a slot or a place in the queue. */
  #admit(job: ActiveJob, before: () => void): void {
    let entered: 'start' | 'wait'
    try {
      this.#requireAccepting()
      entered = this.#registry.requestSlot(job)
    } catch (error) {
      this.#context.events.abandon(job.feed)
      job.journal.discard()
      throw error
    }
    this.#registry.add(job)
    before()
    job.accept()
    if (entered === 'start') job.start()
    else job.enqueue()
  }

  /** The caller's job with this id, as it is stored. @throws JOB_NOT_FOUND, JOB_EXPIRED */
  get(scope: OwnerScope, job_id: string): Promise<JobHandle> {
    return this.#lookup.get(scope, job_id)
  }

  /** The caller's job with this id, if this process holds it. */
  living(scope: OwnerScope, job_id: string): ActiveJob | null {
    return this.#registry.findById(scope, job_id)
  }

  /** Whether the caller's job with this id waits until its history can be written. @throws SERVICE_UNAVAILABLE */
  awaitsRecovery(scope: OwnerScope, job_id: string): boolean {
    return this.#lookup.awaitsRecovery(scope, job_id)
  }

  /** Whether the caller's job with this id is stored. @throws SERVICE_UNAVAILABLE where the database cannot be read */
  isStored(scope: OwnerScope, job_id: string): boolean {
    return this.#lookup.isStored(scope, job_id)
  }

  /**
   * Cancels a job, unless it has ended. It resolves with the new state once that is stored.
   * @throws JOB_NOT_FOUND; SERVICE_UNAVAILABLE where the server has stopped, or the cancellation cannot be stored: the job continues
   */
  async cancel(scope: OwnerScope, job_id: string): Promise<JobHandle> {
    const job = await this.#findOrTakeOver(scope, job_id)
    if (!job) return this.get(scope, job_id)
    this.#requireRunning()
    await job.cancel()
    // Most runs end at once when they are cancelled, and the answer then says so. The cancellation is stored in any case.
    await setImmediate()
    if (job.terminal) await job.flushed().catch(() => {})
    return this.#lookup.readAfterCommit(job)
  }

  /** @throws SERVICE_UNAVAILABLE */
  #requireRunning(): void {
    if (this.#stopController.signal.aborted) throw new ServiceError('SERVICE_UNAVAILABLE')
  }

  /** The caller's job with this id; a suspended job is taken over. It is null where the job has ended. @throws JOB_NOT_FOUND */
  async #findOrTakeOver(scope: OwnerScope, job_id: string): Promise<ActiveJob | null> {
    for (;;) {
      const { row } = await this.get(scope, job_id)
      // No await follows: another request may have taken over or ended the job during the awaits above.
      const living = this.#registry.findByKey(row.key)
      if (living && !living.isDetached) return living
      if (!living && isTerminal(row.status)) return null
      const preparing = living ? null : this.#registry.prepare(row)
      using _ = preparing && (await preparing)
      if (living) await living.flushed()
      else if (!this.#registry.findByKey(row.key)) return this.#takeOver(row.key)
    }
  }

  #takeOver(job_key: number): ActiveJob | null {
    const row = this.#context.store.read((tx) => findJobByKey(tx, job_key))
    if (!row || isTerminal(row.status)) return null
    this.#requireRunning()
    return this.#registry.adopt(row).job
  }

  /**
   * Answers a wait request of a suspended job, which is resumed as soon as there is a slot.
   * @throws JOB_NOT_FOUND, JOB_NOT_SUSPENDED, QUEUE_FULL, SERVICE_UNAVAILABLE; INVALID_PARAMETERS, and INVALID_WORKFLOW_GRAPH where
   * this version cannot run the job; the job stays suspended then
   */
  resume(scope: OwnerScope, job_id: string, answer: WaitAnswer): Promise<JobHandle> {
    return this.#answers.answer(scope, job_id, answer)
  }

  /**
   * Retries a failed or cancelled job as a new job.
   * @throws JOB_NOT_FOUND, JOB_NOT_TERMINAL, CONFLICT, WORKFLOW_NOT_FOUND, INVALID_WORKFLOW_GRAPH, QUEUE_FULL
   */
  async retry(scope: OwnerScope, job_id: string): Promise<JobHandle> {
    const { plans, workflows } = this.#context
    const { row } = await this.get(scope, job_id)
    await preparePlan(plans, row)
    if (row.workflow_etag === null) await prepareRunPlan(plans, row)
    else await workflows.prepare(scope, row.workflow_id)
    using prewritten = this.#prewrittenPages.openFor(++this.#lastKey)
    const parts = await prepareRetry(this.#registry, scope, row, prewritten)
    const job = this.#registry.createJob(parts)
    this.#admit(job, () => prewritten.keepWithJob(job))
    await job.accepted()
    return this.#lookup.readAfterCommit(job)
  }

  /**
   * Resolves with the row of a job and its whole result, once the job has ended or waits for a person or an event. Delays are waited for.
   * @throws OUTCOME_UNKNOWN where the job is stored, but the server stops first, the history cannot be written, or `signal` aborts;
   * SERVICE_UNAVAILABLE where the job is not stored
   */
  async outcome(job: ActiveJob, signal: AbortSignal): Promise<JobTable> {
    await job.settled()
    try {
      const stopping = AbortSignal.any([signal, this.#stopController.signal])
      const row = await waitUntilSettled(this.#context, job.row, stopping, this.#drainController.signal)
      return isResultUnread(row) ? { ...row, result: await this.resultText(row) } : row
    } catch (error) {
      throw createOutcomeUnknownError(job.row.id, error)
    }
  }

  /** The caller's unfinished jobs, the oldest first. */
  listActive(scope: OwnerScope): Steps<ListedJob[]> {
    return this.#lookup.listActive(scope)
  }

  /** The snapshot of a job without its result. */
  snapshot({ row }: JobHandle): Omit<JobSnapshot, 'result'> {
    return this.#registry.snapshot(row)
  }

  /** The result of a job as JSON text. A large result is read in time slices of its owner. @throws JOB_NOT_FOUND where the job was removed meanwhile */
  async resultText(row: JobTable): Promise<string | null> {
    const text = await readResultText(this.#context, row)
    if (text === undefined) throw new ServiceError('JOB_NOT_FOUND')
    return text
  }

  /** Removes the journal files of removed jobs. */
  removeFiles(): void {
    this.#context.spilled.removeSoon()
  }

  /** Compiles a large graph of a stored job in time slices, for `planOf` and other readers; null for a small graph. */
  preparePlan(row: JobTable): Promise<unknown> | null {
    return preparePlan(this.#context.plans, row)
  }

  /** The plan with which a job was accepted. */
  planOf(row: JobTable): Plan {
    return requireStoredPlan(this.#context.plans, row)
  }

  /** The position of a waiting job among those of its owner; 1 is the first. */
  queuePosition(job: ActiveJob): number {
    return this.#registry.queuePosition(job)
  }

  /** Whether jobs wait because their files cannot be read. */
  get hasUnreadableJobs(): boolean {
    return this.#context.unreadableJobs.hasWaiting
  }

  /** The numbers of running and of queued jobs. */
  get load(): { running: number; waiting: number } {
    const { running, waiting } = this.#registry.queue
    return { running, waiting }
  }

  /** Predicts whether a new job would start, wait or be refused. It reserves nothing. */
  forecastAdmission(owner: OwnerScope, workflow_id: string, concurrent: boolean): AdmissionForecast {
    const [user, workflow] = [userShareKey(owner), ownerScopeKey(owner, workflow_id)]
    return this.#registry.queue.forecastAdmission({ user, workflow, exclusive: !concurrent })
  }

  /** Refuses new jobs, and gives running jobs up to `ms` to end. The next process continues the rest. */
  async drain(ms: number): Promise<void> {
    const { store, events, platform } = this.#context
    this.#drainController.abort()
    this.#recovery.stop()
    this.#resumer.stop()
    this.#registry.queue.close()
    const deadline = Promise.withResolvers<void>()
    const timer = setTimeout(() => deadline.resolve(), ms)
    await Promise.race([this.#registry.whenIdle(), deadline.promise])
    // Large values of ended or suspended jobs may still be written to files.
    await Promise.race([Promise.allSettled(this.#registry.jobs.map((job) => job.flushed())), deadline.promise])
    clearTimeout(timer)
    store.flush()
    this.#stopController.abort()
    for (const job of this.#registry.jobs) job.detach()
    events.close()
    await writeStopMark(store, platform.timestamp())
  }

  get draining(): boolean {
    return this.#drainController.signal.aborted
  }
}
