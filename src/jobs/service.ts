// The service for jobs: every run of a workflow, through any transport, is a job. It admits, finds, cancels, resumes and retries jobs, and recovers those
// of an earlier process. The active job handles what happens inside of one job.
import { setImmediate } from 'node:timers/promises'
import type { JobSnapshot } from '../../generated/types.ts'
import { readMetaValue, writeMetaValue } from '../db/database-metadata.ts'
import { writeGraphParts } from '../db/graphs.ts'
import { findIdempotentJob, saveIdempotencyKey } from '../db/jobs/idempotency-keys.ts'
import { listActiveJobKeys } from '../db/jobs/list-queries.ts'
import { isResultUnread } from '../db/jobs/result-parts.ts'
import { findJobByKey, findJobForList, findLastJobKey, findOwnedJob } from '../db/jobs/rows.ts'
import { hasTombstone } from '../db/jobs/tombstones.ts'
import { type OwnerScope, ownerScopeKey, userShareKey } from '../db/owner-scope.ts'
import type { JobTable } from '../db/schema.ts'
import type { Tx } from '../db/store.ts'
import type { Plan } from '../engine/compile/compiler.ts'
import type { Graph } from '../engine/compile/graph.ts'
import { ServiceError } from '../errors.ts'
import { isLargeText } from '../events/lazy-event.ts'
import type { RunDefaults } from '../settings/definitions.ts'
import { ChurnMap } from '../shared/churn-map.ts'
import { KeyedQueue } from '../shared/keyed-queue.ts'
import { type Steps, yieldToEventLoop } from '../shared/time-slices.ts'
import { isSmallValue } from '../shared/value-size.ts'
import { requireRunnablePlan, summarizeProblems } from '../workflows/invalid-graph-error.ts'
import { findParamProblems } from '../workflows/param-validation.ts'
import type { ActiveJob } from './active-job.ts'
import { ActiveJobRegistry, type ActiveJobRegistryParts, type JobHandle } from './active-job-registry.ts'
import { JobJournal } from './journal/job-journal.ts'
import type { AdmissionForecast } from './queue.ts'
import { JobRecovery, type RecoveryCounts } from './recovery/job-recovery.ts'
import { prepareRetry } from './retry/job-retry.ts'
import { PrewrittenPagesRegistry } from './retry/prewritten-journal-pages.ts'
import { readResultText } from './snapshot.ts'
import { isTerminal } from './state-machine.ts'
import { preparePlan, prepareRunPlan, requireStoredPlan } from './stored-plans.ts'
import {
  createJobRow,
  createSeed,
  hashRequest,
  hashRequestSteps,
  type JobSubmission,
  resolveJobOptions,
} from './submission/new-job.ts'
import { createOutcomeUnknownError } from './submission/outcome-unknown-error.ts'
import { limitTimeout } from './submission/stored-options.ts'
import { JobResumer, type WaitAnswer } from './waits/job-resumer.ts'
import { parseStoredWaits } from './waits/stored-waits.ts'

export type { JobHandle } from './active-job-registry.ts'
export type { JobSubmission } from './submission/new-job.ts'
export type { JobOptions } from './submission/stored-options.ts'

/** The row that says that the last process stopped in order, so that its jobs did not cause an interruption. */
const STOPPED_AT_KEY = 'stopped_at'

/** How long an idempotency key identifies its submission. */
export const IDEMPOTENCY_RETENTION_SECONDS = 86_400

/** Wait requests with more characters are large. */
const LARGE_WAIT_CHARACTERS = 65_536

/** The fields of a job in a list. */
export type ListedJob = Pick<
  JobTable,
  'key' | 'id' | 'workflow_id' | 'status' | 'last_sequence' | 'created_at' | 'started_at'
>

export interface JobServiceParts extends ActiveJobRegistryParts {
  /** The owner's default options for runs whose requests do not set them. */
  defaultsOf(owner: OwnerScope): RunDefaults
}

export class JobService {
  readonly #parts: JobServiceParts
  readonly #registry: ActiveJobRegistry
  readonly #recovery: JobRecovery
  readonly #resumer: JobResumer
  /** Answers to jobs with large wait requests, queued by user. */
  readonly #largeAnswers = new KeyedQueue()
  readonly #stopController = new AbortController()
  readonly #prewrittenPages: PrewrittenPagesRegistry
  /** Jobs by idempotency key, until both are stored. */
  readonly #unstoredKeys = new ChurnMap<string, { job: ActiveJob; request_sha256: string }>()
  /** Hashes that `prepare` has computed. */
  readonly #requestHashes = new WeakMap<JobSubmission, string>()
  #lastKey: number
  #draining = false

  constructor(parts: JobServiceParts) {
    this.#parts = parts
    this.#registry = new ActiveJobRegistry(parts, {
      onSuspended: (job) => this.#resumer.addSuspended(job),
      onWriteFailed: (job_key) => {
        this.#recovery.addStray(job_key)
        this.#resumer.addWriteFailure(job_key)
      },
      onDamaged: (job_key) => this.#recovery.endDamaged(job_key),
    })
    this.#prewrittenPages = new PrewrittenPagesRegistry(parts.store, this.#stopController.signal)
    this.#recovery = new JobRecovery(this.#registry)
    this.#resumer = new JobResumer(this.#registry)
    this.#lastKey = parts.store.read(findLastJobKey)
  }

  /** Keys of jobs that are about to be stored: their prewritten pages must not be removed. */
  get early_keys(): ReadonlySet<number> {
    return this.#prewrittenPages.keys
  }

  /** Takes over the unfinished jobs of an earlier process. None of them runs before `startRestored`. */
  async restore(): Promise<RecoveryCounts> {
    const { store } = this.#parts
    const orderly = store.read((tx) => readMetaValue(tx, STOPPED_AT_KEY)) !== null
    if (orderly) await store.write(clearStoppedAt).catch((error) => this.#forgetStopLater(error))
    return this.#recovery.restore(orderly)
  }

  /** A server starts even where the disk is full: the row is cleared with the next write. */
  #forgetStopLater(error: unknown): void {
    if (this.#parts.store.fault === null) throw error
    this.#registry.writeWithNext(clearStoppedAt)
  }

  /** Lets the restored jobs run as slots are free. */
  startRestored(): void {
    this.#registry.queue.admitRestored()
    this.#resumer.scheduleWake()
  }

  /**
   * Does the long work before a submission, in time slices of the owner. It compiles a large graph, writes the text of an inline graph, and hashes a large
   * request. It returns null where there is no long work. `submit` uses the results.
   * @throws REQUEST_TOO_LARGE, MemoryUnavailableError, SERVICE_UNAVAILABLE; nothing is accepted then
   */
  prepare(scope: OwnerScope, submission: JobSubmission): Promise<unknown> | null {
    const { graph, job_id, params } = submission
    const hashes = job_id !== null && !submission.admission && !(isSmallValue(params) && isSmallValue(graph))
    const compiling = this.#prepareGraph(scope, submission)
    if (!hashes) return compiling
    const hashing = this.#parts.plans.slices.run(userShareKey(scope), hashRequestSteps(submission))
    return Promise.all([compiling, hashing.then((hash) => this.#requestHashes.set(submission, hash))]).then(() => {})
  }

  #prepareGraph(scope: OwnerScope, { workflow_id, graph }: JobSubmission): Promise<unknown> | null {
    const { plans, workflows } = this.#parts
    if (graph === null) return workflow_id === null ? null : workflows.prepare(scope, workflow_id)
    const compiling = plans.prepare(userShareKey(scope), graph)
    return compiling && this.#storeGivenGraph(graph, compiling)
  }

  async #storeGivenGraph(graph: Graph, compiling: Promise<void>): Promise<void> {
    await compiling
    const { store, plans } = this.#parts
    const { plan, sha256, body } = plans.compile(graph)
    if (plan) await writeGraphParts(store, sha256, body)
  }

  /**
   * Admits a job, and starts it if a slot is free. Callers must acknowledge it only after `active.accepted()` resolves.
   * A repeated request with the same `job_id` or idempotency key gets the existing job, with `duplicate` true.
   * @throws SERVICE_UNAVAILABLE, WORKFLOW_NOT_FOUND, WORKFLOW_REVISION_CONFLICT, INVALID_WORKFLOW_GRAPH, INVALID_PARAMETERS, CONFLICT,
   * IDEMPOTENCY_CONFLICT, QUEUE_FULL
   */
  submit(scope: OwnerScope, submission: JobSubmission): JobHandle & { duplicate: boolean } {
    const key = submission.idempotency_key ?? null
    const request_sha256 =
      submission.job_id === null && key === null
        ? null
        : (this.#requestHashes.get(submission) ?? resolveRequestHash(submission))
    const earlier = this.#findEarlier(scope, submission, request_sha256)
    if (earlier) return { ...earlier, duplicate: true }
    if (this.#draining) throw createStoppedError()
    const job = this.#createJob(scope, submission, request_sha256)
    this.#admit(job, () => {
      if (key !== null) this.#storeIdempotencyKey(scope, key, request_sha256!, job)
    })
    return { row: job.row, active: job, duplicate: false }
  }

  /** The existing job of a repeated request. @throws CONFLICT, IDEMPOTENCY_CONFLICT where the earlier request was different */
  #findEarlier(
    scope: OwnerScope,
    { job_id, idempotency_key }: JobSubmission,
    request_sha256: string | null,
  ): JobHandle | null {
    const keyed =
      (idempotency_key ?? null) === null ? null : this.findByIdempotencyKey(scope, idempotency_key!, request_sha256!)
    if (keyed) return keyed
    const named = job_id === null ? null : this.#find(scope, job_id)
    if (!named || named.row.request_sha256 === request_sha256) return named
    throw new ServiceError('CONFLICT', { message: `The job id "${job_id}" was used for another request.` })
  }

  /** Whether an idempotency key was used already. Only then does a request need its hash, which takes long for a large request. */
  hasIdempotencyKey(scope: OwnerScope, key: string): boolean {
    return this.#readIdempotencyKey(scope, key) !== null
  }

  /**
   * The job that was submitted with an idempotency key.
   * @throws IDEMPOTENCY_CONFLICT where the key was used for another request, JOB_NOT_FOUND where the job was deleted: it does not run again
   */
  findByIdempotencyKey(scope: OwnerScope, key: string, request_sha256: string): JobHandle | null {
    const known = this.#readIdempotencyKey(scope, key)
    if (!known) return null
    if (known.request_sha256 !== request_sha256) throw new ServiceError('IDEMPOTENCY_CONFLICT')
    if (known.handle) return known.handle
    throw new ServiceError('JOB_NOT_FOUND', { message: 'The job of this idempotency key was deleted.' })
  }

  #readIdempotencyKey(scope: OwnerScope, key: string): { handle: JobHandle | null; request_sha256: string } | null {
    const { store, platform } = this.#parts
    const young = this.#unstoredKeys.get(ownerScopeKey(scope, key))
    if (young) return { handle: { row: young.job.row, active: young.job }, request_sha256: young.request_sha256 }
    const since = new Date(platform.now() - IDEMPOTENCY_RETENTION_SECONDS * 1000).toISOString()
    const kept = store.read((tx) => findIdempotentJob(tx, scope, key, since))
    if (!kept) return null
    const row = store.read((tx) => findJobByKey(tx, kept.job_key))
    const handle = row ? { row, active: this.#registry.findByKey(row.key) } : null
    return { handle, request_sha256: kept.request_sha256 }
  }

  /** Stores the key with the job. Until both are stored, a second submission finds the job in memory. */
  #storeIdempotencyKey(scope: OwnerScope, key: string, request_sha256: string, job: ActiveJob): void {
    const young = ownerScopeKey(scope, key)
    this.#unstoredKeys.set(young, { job, request_sha256 })
    const kept = { key, request_sha256, job_key: job.row.key, created_at: job.row.created_at }
    job.write((tx) => saveIdempotencyKey(tx, scope, kept))
    const forget = () => void this.#unstoredKeys.delete(young)
    job.accepted().then(forget, forget)
  }

  #createJob(scope: OwnerScope, submission: JobSubmission, request_sha256: string | null): ActiveJob {
    const { compiled, workflow_id, revision } = this.#resolveGraph(scope, submission)
    const { admission } = submission
    if (admission && admission.workflow_etag !== compiled.etag) throw new ServiceError('WORKFLOW_REVISION_CONFLICT')
    const plan = requireRunnablePlan(compiled)
    const problems = findParamProblems(plan, submission.params, submission.params_at)
    if (problems.length > 0)
      throw new ServiceError('INVALID_PARAMETERS', { problems, message: summarizeProblems(problems) })
    const { platform } = this.#parts
    const { hasFollower, name, job_id } = submission
    const of = { key: ++this.#lastKey, id: job_id, workflow_id, revision, compiled, inline: submission.graph !== null }
    const options = limitTimeout(resolveJobOptions(submission, this.#parts.defaultsOf(scope)), this.#parts.time_limit)
    const preflight = admission?.preflight ?? null
    const row = createJobRow(
      scope,
      { ...of, request_sha256, name, options, seed: createSeed(platform), preflight },
      platform,
    )
    const journal = JobJournal.createEmpty(this.#parts, row.key, submission.params)
    return this.#registry.createJob({
      row,
      unstored: compiled,
      plan,
      graph_bytes: compiled.bytes,
      loaded: { journal, publishedHistory: null },
      hasFollower,
    })
  }

  /** `before` runs once the job has a slot or a place in the queue. */
  #admit(job: ActiveJob, before: () => void = () => {}): void {
    let entered: 'start' | 'wait'
    try {
      if (this.#draining) throw createStoppedError()
      entered = this.#registry.requestSlot(job)
    } catch (error) {
      this.#parts.events.abandon(job.feed)
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
  async get(scope: OwnerScope, job_id: string): Promise<JobHandle> {
    const young = this.living(scope, job_id)
    // A job is not shown before it is stored.
    if (young) await young.accepted()
    const row = this.#parts.store.read((tx) => findOwnedJob(tx, scope, job_id))
    if (!row) throw this.#createMissingError(scope, job_id)
    // Reading a large result takes long, so the caller continues in a turn of its own.
    if (isLargeText(row.result)) await yieldToEventLoop()
    const active = this.living(scope, job_id)
    if (active || isTerminal(row.status) || row.status === 'paused' || this.#draining) return { row, active }
    // No process runs the job, since its history could not be written: this request continues it.
    // Where the job cannot continue now, it is shown as it is stored.
    await this.#recovery.tryContinueJob(row.key)
    return { row: this.#parts.store.read((tx) => findJobByKey(tx, row.key)) ?? row, active: this.living(scope, job_id) }
  }

  #createMissingError(scope: OwnerScope, job_id: string): ServiceError {
    const expired = this.#parts.store.read((tx) => hasTombstone(tx, scope, job_id))
    return expired ? new ServiceError('JOB_EXPIRED') : new ServiceError('JOB_NOT_FOUND')
  }

  /** The caller's job with this id, if this process holds it. */
  living(scope: OwnerScope, job_id: string): ActiveJob | null {
    return this.#registry.findById(scope, job_id)
  }

  #find(scope: OwnerScope, job_id: string): JobHandle | null {
    const active = this.living(scope, job_id)
    if (active) return { row: active.row, active }
    const row = this.#parts.store.read((tx) => findOwnedJob(tx, scope, job_id))
    return row ? { row, active: null } : null
  }

  /**
   * Cancels a job, unless it has ended. It resolves with the new state once that is stored.
   * @throws JOB_NOT_FOUND; SERVICE_UNAVAILABLE where the server has stopped, or the cancellation cannot be stored: the job continues
   */
  async cancel(scope: OwnerScope, job_id: string): Promise<JobHandle> {
    const job = await this.#findOrTakeOver(scope, job_id)
    if (!job) return this.get(scope, job_id)
    if (this.#stopController.signal.aborted) throw createStoppedError()
    await job.cancel()
    // Most runs end at once when they are cancelled, and the answer then says so. The cancellation is stored in any case.
    await setImmediate()
    if (job.terminal) await job.flushed().catch(() => {})
    return this.#readAfterCommit(job)
  }

  /** Reads a job after a command was stored. A later failure of the job does not undo the command, so the outcome is then unknown. */
  #readAfterCommit({ row: { key, id } }: ActiveJob): JobHandle {
    try {
      const row = this.#parts.store.read((tx) => findJobByKey(tx, key))
      if (row) return { row, active: this.#registry.findByKey(key) }
    } catch (error) {
      throw createOutcomeUnknownError(id, error)
    }
    throw new ServiceError('JOB_NOT_FOUND')
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
    const row = this.#parts.store.read((tx) => findJobByKey(tx, job_key))
    if (!row || isTerminal(row.status)) return null
    if (this.#stopController.signal.aborted) throw createStoppedError()
    return this.#registry.adopt(row).job
  }

  /**
   * Answers a wait request of a suspended job, which is resumed as soon as there is a slot.
   * @throws JOB_NOT_FOUND, JOB_NOT_SUSPENDED, QUEUE_FULL, SERVICE_UNAVAILABLE; INVALID_PARAMETERS, and INVALID_WORKFLOW_GRAPH where
   * this version cannot run the job; the job stays suspended then
   */
  async resume(scope: OwnerScope, job_id: string, answer: WaitAnswer): Promise<JobHandle> {
    // An answer reads all wait requests of its job. Large ones are read one at a time per user, since memory is limited.
    if (!(await this.#hasLargeWaits(scope, job_id))) return this.#resume(scope, job_id, answer, 0)
    const user = userShareKey(scope)
    const ahead = this.#largeAnswers.length(user)
    return this.#largeAnswers.run(user, () => this.#resume(scope, job_id, answer, ahead))
  }

  async #hasLargeWaits(scope: OwnerScope, job_id: string): Promise<boolean> {
    const { waiting } = (await this.get(scope, job_id)).row
    return waiting !== null && waiting.length > LARGE_WAIT_CHARACTERS
  }

  /** `ahead`: answers of the user to jobs with large wait requests that were pending when this answer came. */
  async #resume(scope: OwnerScope, job_id: string, answer: WaitAnswer, ahead: number): Promise<JobHandle> {
    let { row, active } = await this.get(scope, job_id)
    while (active?.isDetached) {
      await active.flushed()
      ;({ row, active } = await this.get(scope, job_id))
    }
    await this.preparePlan(row)
    const firing = await this.#resumer.validateAnswer(this.#readSuspended(row.key), answer, ahead)
    using _ = await this.#registry.prepare(row)
    await this.#registry.context.slices.turn(userShareKey(row))
    // No await follows: of two concurrent answers, the second finds the job resumed.
    const job = this.#resumer.resume(this.#readSuspended(row.key), firing, answer.value)
    await job.flushed()
    return this.#readAfterCommit(job)
  }

  /** Reads a suspended job. @throws JOB_NOT_SUSPENDED */
  #readSuspended(key: number): JobTable {
    if (this.#draining) throw createStoppedError()
    const now = this.#parts.store.read((tx) => findJobByKey(tx, key))
    if (now?.status !== 'paused' || this.#registry.findByKey(key)) throw new ServiceError('JOB_NOT_SUSPENDED')
    return now
  }

  /**
   * Retries a failed or cancelled job as a new job.
   * @throws JOB_NOT_FOUND, JOB_NOT_TERMINAL, CONFLICT, WORKFLOW_NOT_FOUND, INVALID_WORKFLOW_GRAPH, QUEUE_FULL
   */
  async retry(scope: OwnerScope, job_id: string): Promise<JobHandle> {
    const { row } = await this.get(scope, job_id)
    await this.preparePlan(row)
    if (row.workflow_etag === null) await prepareRunPlan(this.#parts.plans, row)
    else await this.#parts.workflows.prepare(scope, row.workflow_id)
    using prewritten = this.#prewrittenPages.openFor(++this.#lastKey)
    const parts = await prepareRetry(this.#registry, scope, row, prewritten)
    const job = this.#registry.createJob(parts)
    this.#admit(job, () => prewritten.keepWithJob(job))
    await job.accepted()
    return this.#readAfterCommit(job)
  }

  /**
   * Resolves with the row of a job and its whole result, once the job has ended or waits for a person or an event. Delays are waited for.
   * @throws OUTCOME_UNKNOWN where the job is stored, but the server stops first, the history cannot be written, or `signal` aborts;
   * SERVICE_UNAVAILABLE where the job is not stored
   */
  async outcome(job: ActiveJob, signal: AbortSignal): Promise<JobTable> {
    await job.settled()
    try {
      const row = await this.#waitUntilSettled(job.row, AbortSignal.any([signal, this.#stopController.signal]))
      return isResultUnread(row) ? { ...row, result: await this.resultText(row) } : row
    } catch (error) {
      throw createOutcomeUnknownError(job.row.id, error)
    }
  }

  async #waitUntilSettled(row: JobTable, signal: AbortSignal): Promise<JobTable> {
    if (row.status !== 'paused' ? isTerminal(row.status) : parseStoredWaits(row).some(({ kind }) => kind !== 'delay'))
      return row
    await this.#followUntilSettled(row, signal)
    return this.#waitUntilSettled(this.#parts.store.read((tx) => findJobByKey(tx, row.key)) ?? row, signal)
  }

  async #followUntilSettled({ key, last_sequence }: JobTable, signal: AbortSignal): Promise<void> {
    for await (const { event } of this.#parts.events.follow(key, last_sequence, signal)) {
      if (event?.type === 'job_terminal' || (event?.type === 'job_status' && event.status === 'suspended')) return
    }
    if (signal.aborted || this.#draining) throw createStoppedError()
  }

  /** Whether the caller's job with this id waits until its history can be written. @throws SERVICE_UNAVAILABLE */
  awaitsRecovery(scope: OwnerScope, job_id: string): boolean {
    if (this.living(scope, job_id)) return false
    const row = this.#parts.store.read((tx) => findOwnedJob(tx, scope, job_id))
    return row !== undefined && row.status !== 'paused' && !isTerminal(row.status)
  }

  /** Whether the caller's job with this id is stored. @throws SERVICE_UNAVAILABLE where the database cannot be read */
  isStored(scope: OwnerScope, job_id: string): boolean {
    return this.#parts.store.read((tx) => findOwnedJob(tx, scope, job_id)) !== undefined
  }

  /**
   * The caller's unfinished jobs, the oldest first. The keys are read at once, then each row in a step of its own. Jobs that have ended by then are left
   * out. Long columns are not kept.
   */
  *listActive(scope: OwnerScope): Steps<ListedJob[]> {
    const { store } = this.#parts
    const listed: ListedJob[] = []
    for (const of of store.read((tx) => listActiveJobKeys(tx, scope))) {
      const row = store.read((tx) => findJobForList(tx, of))
      if (row && !isTerminal(row.status)) {
        const { key, id, workflow_id, status, last_sequence, created_at, started_at } = row
        listed.push({ key, id, workflow_id, status, last_sequence, created_at, started_at })
      }
      yield
    }
    return listed
  }

  /** The snapshot of a job without its result. */
  snapshot({ row }: JobHandle): Omit<JobSnapshot, 'result'> {
    return this.#registry.snapshot(row)
  }

  /** The result of a job as JSON text. A large result is read in time slices of its owner. @throws JOB_NOT_FOUND where the job was removed meanwhile */
  async resultText(row: JobTable): Promise<string | null> {
    const { store, plans } = this.#parts
    const text = await readResultText({ store, slices: plans.slices }, row)
    if (text === undefined) throw new ServiceError('JOB_NOT_FOUND')
    return text
  }

  /** Removes the journal files of removed jobs. */
  removeFiles(): void {
    this.#parts.spilled.removeSoon()
  }

  /** Compiles a large graph of a stored job in time slices, for `planOf` and other readers; null for a small graph. */
  preparePlan(row: JobTable): Promise<unknown> | null {
    return preparePlan(this.#parts.plans, row)
  }

  /** The plan with which a job was accepted. */
  planOf(row: JobTable): Plan {
    return requireStoredPlan(this.#parts.plans, row)
  }

  /** The queue position of a job; 1 is next. */
  queuePosition(job: ActiveJob): number {
    return this.#registry.queuePosition(job)
  }

  /** Whether jobs wait because their files cannot be read. */
  get hasUnreadableJobs(): boolean {
    return this.#registry.context.unreadableJobs.hasWaiting
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
    this.#draining = true
    this.#recovery.stop()
    this.#resumer.stop()
    this.#registry.queue.close()
    const deadline = Promise.withResolvers<void>()
    const timer = setTimeout(() => deadline.resolve(), ms)
    await Promise.race([this.#registry.whenIdle(), deadline.promise])
    // Large values of ended or suspended jobs may still be written to files.
    await Promise.race([Promise.allSettled(this.#registry.jobs.map((job) => job.flushed())), deadline.promise])
    clearTimeout(timer)
    this.#parts.store.flush()
    this.#stopController.abort()
    for (const job of this.#registry.jobs) job.detach()
    this.#parts.events.close()
    // A store that cannot be written was logged already. The stop then counts as an interruption.
    await this.#parts.store
      .write((tx) => writeMetaValue(tx, STOPPED_AT_KEY, this.#parts.platform.timestamp()))
      .catch(() => {})
  }

  get draining(): boolean {
    return this.#draining
  }

  #resolveGraph(scope: OwnerScope, { workflow_id, graph }: JobSubmission) {
    const { plans, workflows, platform } = this.#parts
    if (graph) {
      const compiled = plans.compile(graph)
      return { compiled, workflow_id: workflow_id ?? platform.id('wf'), revision: null }
    }
    if (workflow_id === null)
      throw new ServiceError('INVALID_REQUEST', { message: 'Either workflow_id or graph is required.' })
    return workflows.runnable(scope, workflow_id)
  }
}

/** Without the row, the end of a process counts as an interruption. */
function clearStoppedAt(tx: Tx): void {
  writeMetaValue(tx, STOPPED_AT_KEY, null)
}

function resolveRequestHash(submission: JobSubmission): string {
  return submission.admission?.request_sha256 ?? hashRequest(submission)
}

function createStoppedError(): ServiceError {
  return new ServiceError('SERVICE_UNAVAILABLE')
}
