// Jobs: every run of a workflow, whichever door it came through. It admits, finds, cancels, resumes and retries them, and brings those of an
// earlier process back; what happens inside one is the active job's business.
import { setImmediate } from 'node:timers/promises'
import type { JobSnapshot } from '../../generated/types.ts'
import { keepParts } from '../db/graphs.ts'
import { idempotentJob, keepIdempotencyKey } from '../db/idempotency.ts'
import { activeKeys } from '../db/job-lists.ts'
import { jobByKey, lastJobKey, listedJobByKey, ownedJob } from '../db/jobs.ts'
import { metaValue, putMeta } from '../db/meta.ts'
import { isUnread } from '../db/results.ts'
import type { JobTable } from '../db/schema.ts'
import { type Scope, scopedKey, userKey } from '../db/scope.ts'
import type { Tx } from '../db/store.ts'
import { tombstone } from '../db/tombstones.ts'
import type { Graph } from '../engine/graph.ts'
import type { Plan } from '../engine/plan.ts'
import { ServiceError } from '../errors.ts'
import { isLargeText } from '../events/lazy-event.ts'
import { KeyedQueue } from '../keyed-queue.ts'
import { isLight } from '../light-parts.ts'
import type { RunDefaults } from '../settings/registry.ts'
import { ShiftingMap } from '../shifting-map.ts'
import { nextTurn, type Steps } from '../time-slices.ts'
import { runnablePlan, summary } from '../workflows/invalid-graph.ts'
import { paramProblems } from '../workflows/params.ts'
import type { ActiveJob } from './active-job.ts'
import { EarlyPages } from './early-pages.ts'
import { JobMemory } from './memory.ts'
import { newRow, newSeed, optionsFor, requestHash, requestHashSteps, type Submission } from './new-job.ts'
import type { Outlook } from './queue.ts'
import { type Recovered, Recovery } from './recovery.ts'
import { type Answer, Resuming } from './resuming.ts'
import { retryOf } from './retrying.ts'
import { Roster, type RosterParts } from './roster.ts'
import { resultTextOf } from './snapshot.ts'
import { isTerminal } from './states.ts'
import { timeLimited } from './stored-options.ts'
import { unconfirmed } from './unconfirmed.ts'
import { waitingOf } from './waiting.ts'

export type { Submission } from './new-job.ts'
export type { JobOptions } from './stored-options.ts'

/** The fact that the last process stopped by itself: what it left was not interrupted by its own doing. */
const STOPPED = 'stopped_at'

/** How long a key identifies its submission. */
export const IDEMPOTENCY_RETENTION_SECONDS = 86_400

/** A job waits for much if what it asks has more characters. */
const MUCH_WAITING = 65_536

/** A job that was found or admitted: `active` while this process has it, `row` always. */
export interface JobHandle {
  readonly row: JobTable
  readonly active: ActiveJob | null
}

/** What a list of all jobs tells of each. */
export type ListedJob = Pick<
  JobTable,
  'key' | 'id' | 'workflow_id' | 'status' | 'last_sequence' | 'created_at' | 'started_at'
>

export interface JobServiceParts extends RosterParts {
  /** What an owner's runs are where their requests do not say it. */
  defaultsOf(owner: Scope): RunDefaults
}

export class JobService {
  readonly #parts: JobServiceParts
  readonly #roster: Roster
  readonly #recovery: Recovery
  readonly #resuming: Resuming
  /** Answers to jobs that wait for much, by user. */
  readonly #largeAnswers = new KeyedQueue()
  readonly #stopping = new AbortController()
  readonly #early: EarlyPages
  /** Jobs by idempotency key until both are stored. */
  readonly #keys = new ShiftingMap<string, { job: ActiveJob; request_sha256: string }>()
  /** Of requests that were hashed before. */
  readonly #hashes = new WeakMap<Submission, string>()
  #lastKey: number
  #draining = false

  constructor(parts: JobServiceParts) {
    this.#parts = parts
    this.#roster = new Roster(parts, {
      rested: (job) => this.#resuming.rested(job),
      lost: (job_key) => {
        this.#recovery.lost(job_key)
        this.#resuming.failed(job_key)
      },
      damaged: (job_key) => this.#recovery.damaged(job_key),
    })
    this.#early = new EarlyPages(parts.store, this.#stopping.signal)
    this.#recovery = new Recovery(this.#roster)
    this.#resuming = new Resuming(this.#roster)
    this.#lastKey = parts.store.read(lastJobKey)
  }

  /** Keys of jobs that are about to be stored: what is stored of them already must stay. */
  get early_keys(): ReadonlySet<number> {
    return this.#early.keys
  }

  /** Takes over what an earlier process left unfinished; none of it runs before `open`. */
  async restore(): Promise<Recovered> {
    const { store } = this.#parts
    const orderly = store.read((tx) => metaValue(tx, STOPPED)) !== null
    if (orderly) await store.write(forgetStop).catch((error) => this.#forgetStopLater(error))
    return this.#recovery.restore(orderly)
  }

  /** A start needs no room on the disk. */
  #forgetStopLater(error: unknown): void {
    if (this.#parts.store.fault === null) throw error
    this.#roster.writeWithNext(forgetStop)
  }

  /** Lets what was restored run, as there is room. */
  open(): void {
    this.#roster.queue.open()
    this.#resuming.watch()
  }

  /**
   * Does what is long before a submission in time slices of its owner: a large graph is compiled, the text of one that came with it is written, and a
   * large request is hashed. Null where nothing is. `submit` takes what was prepared.
   * @throws REQUEST_TOO_LARGE, NoRoom, SERVICE_UNAVAILABLE; nothing is accepted then
   */
  prepare(scope: Scope, submission: Submission): Promise<unknown> | null {
    const { graph, job_id, params } = submission
    const hashes = job_id !== null && !submission.admission && !(isLight(params) && isLight(graph))
    const compiling = this.#prepareGraph(scope, submission)
    if (!hashes) return compiling
    const hashing = this.#parts.plans.slices.run(userKey(scope), requestHashSteps(submission))
    return Promise.all([compiling, hashing.then((hash) => this.#hashes.set(submission, hash))]).then(() => {})
  }

  #prepareGraph(scope: Scope, { workflow_id, graph }: Submission): Promise<unknown> | null {
    const { plans, workflows } = this.#parts
    if (graph === null) return workflow_id === null ? null : workflows.prepare(scope, workflow_id)
    const compiling = plans.prepare(userKey(scope), graph)
    return compiling && this.#keepGiven(graph, compiling)
  }

  async #keepGiven(graph: Graph, compiling: Promise<void>): Promise<void> {
    await compiling
    const { store, plans } = this.#parts
    const { plan, sha256, body } = plans.compile(graph)
    if (plan) await keepParts(store, sha256, body)
  }

  /**
   * Admits a job and starts it if there is room. Nothing is acknowledged before `active.accepted()` resolves.
   * The same `job_id`, or the same idempotency key, with the same request gives the job that there is, with `duplicate` true.
   * @throws SERVICE_UNAVAILABLE, WORKFLOW_NOT_FOUND, WORKFLOW_REVISION_CONFLICT, INVALID_WORKFLOW_GRAPH, INVALID_PARAMETERS, CONFLICT,
   * IDEMPOTENCY_CONFLICT, QUEUE_FULL
   */
  submit(scope: Scope, submission: Submission): JobHandle & { duplicate: boolean } {
    const key = submission.idempotency_key ?? null
    const request_sha256 =
      submission.job_id === null && key === null ? null : (this.#hashes.get(submission) ?? hashOf(submission))
    const earlier = this.#earlier(scope, submission, request_sha256)
    if (earlier) return { ...earlier, duplicate: true }
    if (this.#draining) throw stopped()
    const job = this.#newJob(scope, submission, request_sha256)
    this.#admit(job, () => {
      if (key !== null) this.#keepKey(scope, key, request_sha256!, job)
    })
    return { row: job.row, active: job, duplicate: false }
  }

  /** The job that this request has led to before. @throws CONFLICT, IDEMPOTENCY_CONFLICT where it was another request */
  #earlier(scope: Scope, { job_id, idempotency_key }: Submission, request_sha256: string | null): JobHandle | null {
    const keyed = (idempotency_key ?? null) === null ? null : this.keyed(scope, idempotency_key!, request_sha256!)
    if (keyed) return keyed
    const named = job_id === null ? null : this.#find(scope, job_id)
    if (!named || named.row.request_sha256 === request_sha256) return named
    throw new ServiceError('CONFLICT', { message: `The job id "${job_id}" was used for another request.` })
  }

  /** Whether an idempotency key was given already. Only then does a request need its hash, which of a large one takes long. */
  isKeyed(scope: Scope, key: string): boolean {
    return this.#byKey(scope, key) !== null
  }

  /**
   * The job that an idempotency key stands for.
   * @throws IDEMPOTENCY_CONFLICT where it was given for another request, JOB_NOT_FOUND where its job was deleted: it does not run again
   */
  keyed(scope: Scope, key: string, request_sha256: string): JobHandle | null {
    const known = this.#byKey(scope, key)
    if (!known) return null
    if (known.request_sha256 !== request_sha256) throw new ServiceError('IDEMPOTENCY_CONFLICT')
    if (known.handle) return known.handle
    throw new ServiceError('JOB_NOT_FOUND', { message: 'The job of this idempotency key was deleted.' })
  }

  #byKey(scope: Scope, key: string): { handle: JobHandle | null; request_sha256: string } | null {
    const { store, platform } = this.#parts
    const young = this.#keys.get(scopedKey(scope, key))
    if (young) return { handle: { row: young.job.row, active: young.job }, request_sha256: young.request_sha256 }
    const since = new Date(platform.now() - IDEMPOTENCY_RETENTION_SECONDS * 1000).toISOString()
    const kept = store.read((tx) => idempotentJob(tx, scope, key, since))
    if (!kept) return null
    const row = store.read((tx) => jobByKey(tx, kept.job_key))
    const handle = row ? { row, active: this.#roster.byKey(row.key) } : null
    return { handle, request_sha256: kept.request_sha256 }
  }

  /** Until both are stored, a second submission finds the job here. */
  #keepKey(scope: Scope, key: string, request_sha256: string, job: ActiveJob): void {
    const young = scopedKey(scope, key)
    this.#keys.set(young, { job, request_sha256 })
    const kept = { key, request_sha256, job_key: job.row.key, created_at: job.row.created_at }
    job.write((tx) => keepIdempotencyKey(tx, scope, kept))
    const forget = () => void this.#keys.delete(young)
    job.accepted().then(forget, forget)
  }

  #newJob(scope: Scope, submission: Submission, request_sha256: string | null): ActiveJob {
    const { compiled, workflow_id, revision } = this.#resolve(scope, submission)
    const { admission } = submission
    if (admission && admission.workflow_etag !== compiled.etag) throw new ServiceError('WORKFLOW_REVISION_CONFLICT')
    const plan = runnablePlan(compiled)
    const problems = paramProblems(plan, submission.params, submission.params_at)
    if (problems.length > 0) throw new ServiceError('INVALID_PARAMETERS', { problems, message: summary(problems) })
    const { platform } = this.#parts
    const { watched, name, job_id } = submission
    const of = { key: ++this.#lastKey, id: job_id, workflow_id, revision, compiled, inline: submission.graph !== null }
    const options = timeLimited(optionsFor(submission, this.#parts.defaultsOf(scope)), this.#parts.time_limit)
    const preflight = admission?.preflight ?? null
    const row = newRow(scope, { ...of, request_sha256, name, options, seed: newSeed(platform), preflight }, platform)
    const memory = JobMemory.fresh(this.#parts, row.key, submission.params)
    return this.#roster.make({ row, unstored: compiled, plan, graph_bytes: compiled.bytes, memory, watched })
  }

  /** `before` runs when it is certain that the job is taken in. */
  #admit(job: ActiveJob, before: () => void = () => {}): void {
    let entered: 'start' | 'wait'
    try {
      if (this.#draining) throw stopped()
      entered = this.#roster.enter(job)
    } catch (error) {
      this.#parts.events.abandon(job.feed)
      job.memory.discard()
      throw error
    }
    this.#roster.add(job)
    before()
    job.accept()
    if (entered === 'start') job.start()
    else job.enqueue()
  }

  /** The job of this id if it belongs to the caller, as it is stored. @throws JOB_NOT_FOUND, JOB_EXPIRED */
  async get(scope: Scope, job_id: string): Promise<JobHandle> {
    const young = this.living(scope, job_id)
    // Nothing is shown before it is stored.
    if (young) await young.accepted()
    const row = this.#parts.store.read((tx) => ownedJob(tx, scope, job_id))
    if (!row) throw this.#missing(scope, job_id)
    // To read a large result takes its time: what the caller does with it comes in a turn of its own.
    if (isLargeText(row.result)) await nextTurn()
    const active = this.living(scope, job_id)
    if (active || isTerminal(row.status) || row.status === 'paused' || this.#draining) return { row, active }
    // Nobody runs it, because its history could not be written: whoever asks for it lets it go on.
    // A read needs no room: where it cannot go on now, it is shown as it is stored.
    await this.#recovery.tryGoOn(row.key)
    return { row: this.#parts.store.read((tx) => jobByKey(tx, row.key)) ?? row, active: this.living(scope, job_id) }
  }

  #missing(scope: Scope, job_id: string): ServiceError {
    const expired = this.#parts.store.read((tx) => tombstone(tx, scope, job_id))
    return expired ? new ServiceError('JOB_EXPIRED') : new ServiceError('JOB_NOT_FOUND')
  }

  /** The caller's job of this id that this process has. */
  living(scope: Scope, job_id: string): ActiveJob | null {
    return this.#roster.living(scope, job_id)
  }

  #find(scope: Scope, job_id: string): JobHandle | null {
    const active = this.living(scope, job_id)
    if (active) return { row: active.row, active }
    const row = this.#parts.store.read((tx) => ownedJob(tx, scope, job_id))
    return row ? { row, active: null } : null
  }

  /**
   * Asks a job to end; one that has ended stays as it is. Gives the state after that, once it is stored.
   * @throws JOB_NOT_FOUND; SERVICE_UNAVAILABLE where the server has stopped, or it cannot be stored: the job goes on
   */
  async cancel(scope: Scope, job_id: string): Promise<JobHandle> {
    const job = await this.#reach(scope, job_id)
    if (!job) return this.get(scope, job_id)
    if (this.#stopping.signal.aborted) throw stopped()
    await job.cancel()
    // Most runs end in the moment in which they are told to: then the answer says so. That the cancellation is stored holds without it.
    await setImmediate()
    if (job.terminal) await job.flushed().catch(() => {})
    return this.#afterCommit(job)
  }

  /** A job as it is stored, after a command that is stored: that it was cannot be taken back by what happens to the job since. */
  #afterCommit({ row: { key, id } }: ActiveJob): JobHandle {
    try {
      const row = this.#parts.store.read((tx) => jobByKey(tx, key))
      if (row) return { row, active: this.#roster.byKey(key) }
    } catch (error) {
      throw unconfirmed(id, error)
    }
    throw new ServiceError('JOB_NOT_FOUND')
  }

  /** The caller's job of this id, taken over where it is suspended; null where it has ended. @throws JOB_NOT_FOUND */
  async #reach(scope: Scope, job_id: string): Promise<ActiveJob | null> {
    for (;;) {
      const { row } = await this.get(scope, job_id)
      // From here on nothing waits: whoever waited meanwhile for the same job may have taken it over, or ended it.
      const living = this.#roster.byKey(row.key)
      if (living && !living.resting) return living
      if (!living && isTerminal(row.status)) return null
      const preparing = living ? null : this.#roster.prepare(row)
      using _ = preparing && (await preparing)
      if (living) await living.flushed()
      else if (!this.#roster.byKey(row.key)) return this.#takeOver(row.key)
    }
  }

  #takeOver(job_key: number): ActiveJob | null {
    const row = this.#parts.store.read((tx) => jobByKey(tx, job_key))
    if (!row || isTerminal(row.status)) return null
    if (this.#stopping.signal.aborted) throw stopped()
    return this.#roster.adopt(row).job
  }

  /**
   * Gives a suspended job a value that it waits for; it goes on as soon as there is room.
   * @throws JOB_NOT_FOUND, JOB_NOT_SUSPENDED, QUEUE_FULL, SERVICE_UNAVAILABLE; INVALID_PARAMETERS, and INVALID_WORKFLOW_GRAPH where
   * this version cannot run the job: it stays suspended then
   */
  async resume(scope: Scope, job_id: string, answer: Answer): Promise<JobHandle> {
    // An answer reads all that its job waits for. Of megabytes, only one at a time is read for a user: there is no room for many.
    if (!(await this.#waitsForMuch(scope, job_id))) return this.#resume(scope, job_id, answer, 0)
    const user = userKey(scope)
    const ahead = this.#largeAnswers.length(user)
    return this.#largeAnswers.run(user, () => this.#resume(scope, job_id, answer, ahead))
  }

  async #waitsForMuch(scope: Scope, job_id: string): Promise<boolean> {
    const { waiting } = (await this.get(scope, job_id)).row
    return waiting !== null && waiting.length > MUCH_WAITING
  }

  /** `ahead`: how many answers of the user to jobs that wait for much were there when this one came. */
  async #resume(scope: Scope, job_id: string, answer: Answer, ahead: number): Promise<JobHandle> {
    let { row, active } = await this.get(scope, job_id)
    while (active?.resting) {
      await active.flushed()
      ;({ row, active } = await this.get(scope, job_id))
    }
    await this.preparePlan(row)
    const firing = await this.#resuming.judge(this.#suspended(row.key), answer, ahead)
    using _ = await this.#roster.prepare(row)
    await this.#roster.slices.turn(userKey(row))
    // From here on nothing waits: of two who answer at the same time one finds the job gone on.
    const job = this.#resuming.resume(this.#suspended(row.key), firing, answer.value)
    await job.flushed()
    return this.#afterCommit(job)
  }

  /** A job that waits for something outside, as it is now. */
  #suspended(key: number): JobTable {
    if (this.#draining) throw stopped()
    const now = this.#parts.store.read((tx) => jobByKey(tx, key))
    if (now?.status !== 'paused' || this.#roster.byKey(key)) throw new ServiceError('JOB_NOT_SUSPENDED')
    return now
  }

  /**
   * Tries a job that failed or was cancelled again, as a new one.
   * @throws JOB_NOT_FOUND, JOB_NOT_TERMINAL, CONFLICT, WORKFLOW_NOT_FOUND, INVALID_WORKFLOW_GRAPH, QUEUE_FULL
   */
  async retry(scope: Scope, job_id: string): Promise<JobHandle> {
    const { row } = await this.get(scope, job_id)
    await this.preparePlan(row)
    if (row.workflow_etag === null) await this.#roster.prepareRun(row)
    else await this.#parts.workflows.prepare(scope, row.workflow_id)
    using early = this.#early.of(++this.#lastKey)
    const parts = await retryOf(this.#roster, scope, row, early)
    const job = this.#roster.make(parts)
    this.#admit(job, () => early.keepWith(job))
    await job.accepted()
    return this.#afterCommit(job)
  }

  /**
   * The row of a job, with its whole result, once it has ended, or waits for a person or an event; the passing of time is waited for.
   * @throws OUTCOME_UNKNOWN where the job is stored, and the server stops before that, its history cannot be written, or `signal` aborts;
   * SERVICE_UNAVAILABLE where the job is not stored
   */
  async outcome(job: ActiveJob, signal: AbortSignal): Promise<JobTable> {
    await job.settled()
    try {
      const row = await this.#rested(job.row, AbortSignal.any([signal, this.#stopping.signal]))
      return isUnread(row) ? { ...row, result: await this.resultText(row) } : row
    } catch (error) {
      throw unconfirmed(job.row.id, error)
    }
  }

  async #rested(row: JobTable, signal: AbortSignal): Promise<JobTable> {
    if (row.status !== 'paused' ? isTerminal(row.status) : waitingOf(row).some(({ kind }) => kind !== 'delay'))
      return row
    await this.#nextRest(row, signal)
    return this.#rested(this.#parts.store.read((tx) => jobByKey(tx, row.key)) ?? row, signal)
  }

  async #nextRest({ key, last_sequence }: JobTable, signal: AbortSignal): Promise<void> {
    for await (const { event } of this.#parts.events.follow(key, last_sequence, signal)) {
      if (event?.type === 'job_terminal' || (event?.type === 'job_status' && event.status === 'suspended')) return
    }
    if (signal.aborted || this.#draining) throw stopped()
  }

  /** Whether the caller's job of this id is to go on as soon as its history can be written. @throws SERVICE_UNAVAILABLE */
  awaitsRecovery(scope: Scope, job_id: string): boolean {
    if (this.living(scope, job_id)) return false
    const row = this.#parts.store.read((tx) => ownedJob(tx, scope, job_id))
    return row !== undefined && row.status !== 'paused' && !isTerminal(row.status)
  }

  /** Whether the caller's job of this id is stored. @throws SERVICE_UNAVAILABLE where that cannot be read */
  isStored(scope: Scope, job_id: string): boolean {
    return this.#parts.store.read((tx) => ownedJob(tx, scope, job_id)) !== undefined
  }

  /**
   * The caller's jobs that have not ended, the oldest first. Which ones is decided at once; each is told as it is when its turn comes, and left out where it
   * has ended by then. Nothing is kept of what may be long in a row.
   */
  *listActive(scope: Scope): Steps<ListedJob[]> {
    const { store } = this.#parts
    const listed: ListedJob[] = []
    for (const of of store.read((tx) => activeKeys(tx, scope))) {
      const row = store.read((tx) => listedJobByKey(tx, of))
      if (row && !isTerminal(row.status)) {
        const { key, id, workflow_id, status, last_sequence, created_at, started_at } = row
        listed.push({ key, id, workflow_id, status, last_sequence, created_at, started_at })
      }
      yield
    }
    return listed
  }

  /** The state of a job but for its result. */
  snapshot({ row }: JobHandle): Omit<JobSnapshot, 'result'> {
    return this.#roster.snapshot(row)
  }

  /** The text of the result of a row, a large one read in time slices of its owner. @throws JOB_NOT_FOUND where the job was removed meanwhile */
  async resultText(row: JobTable): Promise<string | null> {
    const { store, plans } = this.#parts
    const text = await resultTextOf({ store, slices: plans.slices }, row)
    if (text === undefined) throw new ServiceError('JOB_NOT_FOUND')
    return text
  }

  /** Removes the files of what jobs remembered that are gone. */
  removeFiles(): void {
    this.#parts.spilled.removeSoon()
  }

  /** Compiles the graph of a stored job in time slices where it is large, so that `planOf` and the like find it; null where it is small. */
  preparePlan(row: JobTable): Promise<unknown> | null {
    return this.#roster.preparePlan(row)
  }

  /** The plan that a job was accepted with. */
  planOf(row: JobTable): Plan {
    return this.#roster.planOf(row)
  }

  /** The place of a waiting job, 1 for the next. */
  position(job: ActiveJob): number {
    return this.#roster.position(job)
  }

  /** Whether jobs wait because files of them cannot be read. */
  get hasUnreadable(): boolean {
    return this.#roster.unreadable.any
  }

  /** How many jobs run, and how many wait for their turn. */
  get load(): { running: number; waiting: number } {
    const { running, waiting } = this.#roster.queue
    return { running, waiting }
  }

  /** What a new job would meet now. Nothing is reserved for it. */
  outlook(owner: Scope, workflow_id: string, concurrent: boolean): Outlook {
    const [user, workflow] = [userKey(owner), scopedKey(owner, workflow_id)]
    return this.#roster.queue.outlook({ user, workflow, exclusive: !concurrent })
  }

  /** Refuses new jobs from now on and gives those that run up to `ms`; what is left goes on with the next process. */
  async drain(ms: number): Promise<void> {
    this.#draining = true
    this.#recovery.stop()
    this.#resuming.stop()
    this.#roster.queue.close()
    const deadline = Promise.withResolvers<void>()
    const timer = setTimeout(() => deadline.resolve(), ms)
    await Promise.race([this.#roster.whenIdle(), deadline.promise])
    // Large values of jobs that have ended or wait may be on their way to the disk.
    await Promise.race([Promise.allSettled(this.#roster.all.map((job) => job.flushed())), deadline.promise])
    clearTimeout(timer)
    this.#parts.store.flush()
    this.#stopping.abort()
    for (const job of this.#roster.all) job.detach()
    this.#parts.events.close()
    // That the store cannot be written any more has been said, and counts as an interruption.
    await this.#parts.store.write((tx) => putMeta(tx, STOPPED, this.#parts.platform.timestamp())).catch(() => {})
  }

  get draining(): boolean {
    return this.#draining
  }

  #resolve(scope: Scope, { workflow_id, graph }: Submission) {
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

/** From here on a process that ends has been interrupted, until it says otherwise. */
function forgetStop(tx: Tx): void {
  putMeta(tx, STOPPED, null)
}

function hashOf(submission: Submission): string {
  return submission.admission?.request_sha256 ?? requestHash(submission)
}

function stopped(): ServiceError {
  return new ServiceError('SERVICE_UNAVAILABLE')
}
