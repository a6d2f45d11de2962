// Lets suspended jobs go on: with a value that somebody gives, or because time has passed.
import { type DueJob, findJobByKey, updateJob } from '../../db/jobs/rows.ts'
import { ownerScopeKey, userShareKey } from '../../db/owner-scope.ts'
import type { JobTable } from '../../db/schema.ts'
import { isDamagedDataError, ServiceError, toServiceError } from '../../errors.ts'
import { MemoryUnavailableError } from '../../payloads/fair-memory-account.ts'
import { type RunSteps, SchemaValidator } from '../../sandbox/schema-validator.ts'
import type { ActiveJob } from '../active-job.ts'
import type { ActiveJobRegistry } from '../active-job-registry.ts'
import { isSmallGraph, OutOfGraphMemoryError } from '../graph-memory-account.ts'
import { createTimedOutEnding } from '../job-endings.ts'
import { TransientFileError } from '../recovery/transient-faults.ts'
import { WriteBackoff } from '../recovery/write-backoff.ts'
import { parseStoredOptions, resolveDeadline } from '../submission/stored-options.ts'
import { validateAnswerValue } from './answer-validation.ts'
import { DueJobQueue } from './due-job-queue.ts'
import { GraphMemoryWaits } from './graph-memory-waits.ts'
import { listAnswerableWaits, parseStoredWaits, selectWait, type WaitSelector } from './stored-waits.ts'
import { WakeTimer } from './wake-timer.ts'

/** How many due jobs are seen to in one turn of the event loop, and how long, in milliseconds; when the next turn comes, and where few can be written. */
const DUE_AT_ONCE = 100
const TURN_MS = 20
const PAUSE_MS = 200
/** So much of a turn goes into reading which jobs are due, in milliseconds. */
const READING_MS = TURN_MS / 2
/** How long the jobs of a user for which there is no room wait, in milliseconds. */
const NO_ROOM_PAUSE_MS = 1_000
/** How long a job that somebody has in memory is left alone, and one that could not go on. */
const TAKEN_PAUSE_MS = 1_000
const LOST_PAUSE_MS = 4_000
/** Due jobs are read again when one of them may be tried again: not sooner and not later than this, in milliseconds, and at the most for this part of the time. */
const LEAST_AGAIN_MS = 1_000
const READ_AGAIN_MS = 30_000
const READING_PART = 1 / 20
/** How long a job that cannot be run is left alone, and one whose row is damaged. */
const POSTPONED_MS = 600_000

/** A value for a suspended job; `at` names where the request stood, for problems. */
export interface WaitAnswer extends WaitSelector {
  readonly value: unknown
  readonly at: string
}

export class JobResumer {
  readonly #registry: ActiveJobRegistry
  readonly #wakeTimer: WakeTimer
  readonly #backoff: WriteBackoff
  readonly #schemas = new SchemaValidator()
  readonly #dueJobs = new DueJobQueue()
  /** Users with due jobs for which there is no room: for a moment their jobs wait. */
  readonly #pausedUsers = new Set<string>()
  #paused_until = 0
  /** By job, until when one that could not go on is left alone. */
  readonly #pausedJobs = new Map<number, number>()
  readonly #graphMemoryWaits = new GraphMemoryWaits()
  /** When due jobs are read again, by the steady clock: never, as long as each of them could go on. */
  #reread_at = Number.POSITIVE_INFINITY
  #stopped = false

  constructor(roster: ActiveJobRegistry) {
    this.#registry = roster
    this.#backoff = new WriteBackoff(roster.parts.store)
    this.#wakeTimer = new WakeTimer(
      roster.parts,
      () => roster.steady.now(),
      () => this.#wakeDue(),
    )
  }

  /** Sees to what is due, now and as time passes. */
  scheduleWake(): void {
    this.#registry.steady.storeOffset()
    this.#setWakeTimer()
  }

  /** A job waits, and is to be seen to at some time. */
  addSuspended(job: DueJob): void {
    this.#dueJobs.addStored(job)
    this.scheduleWake()
  }

  /** The history of a job could not be written: it is left alone for a moment, and others are where the database is the reason. */
  addWriteFailure(job_key: number): void {
    this.#backoff.recordFailure()
    this.#pauseJob(job_key, LOST_PAUSE_MS)
    this.#setWakeTimer()
  }

  stop(): void {
    this.#stopped = true
    this.#wakeTimer.stop()
  }

  /**
   * Finds the firing of a suspended job that an answer is for, and judges its value. Meanwhile the job may have gone on.
   * @throws JOB_NOT_SUSPENDED, INVALID_PARAMETERS, INVALID_WORKFLOW_GRAPH where this version cannot run it, SERVICE_UNAVAILABLE; DATA_DAMAGED
   * where its graph is damaged: the job ends
   */
  async validateAnswer(row: JobTable, answer: WaitAnswer, ahead: number): Promise<string> {
    if (this.#registry.obstacle(row) === 'damaged') this.#registry.adopt(row).job.endDamaged(false)
    this.#registry.planOf(row)
    const requests = await this.#registry.journals.readWaitRequests(row)
    const owner = userShareKey(row)
    // What thousands of firings wait for is long to read, and many may answer at once.
    await this.#registry.slices.turn(owner)
    const all = listAnswerableWaits(row, (firing) => requests.get(firing) ?? null)
    const { shown, request } = selectWait(all, answer, answer.at)
    const judged = { value: answer.value, at: `${answer.at}/value` }
    const doing: RunSteps = (steps) => this.#registry.slices.run(owner, steps)
    const found = await validateAnswerValue(this.#schemas, request, judged, { owner, doing, ahead })
    if (found.length > 0) {
      // What is told of a value may quote the schema.
      const problems = this.#registry.publisherOf(row).redact(found)
      const message = `The value is not what the job waits for: ${problems[0]!.message}`
      throw new ServiceError('INVALID_PARAMETERS', { problems, message })
    }
    return shown.firing
  }

  /**
   * Gives a suspended job, which nobody has in memory, a value that was judged for a firing.
   * @throws JOB_NOT_SUSPENDED where that does not wait any more, QUEUE_FULL; it stays suspended then
   */
  resume(row: JobTable, firing: string, value: unknown): ActiveJob {
    if (!parseStoredWaits(row).some((one) => one.firing === firing)) throw new ServiceError('JOB_NOT_SUSPENDED')
    return this.#continueJob(row, [{ firing, value }])
  }

  #continueJob(row: JobTable, answers: readonly { firing: string; value: unknown }[]): ActiveJob {
    const { job } = this.#registry.adopt(row)
    let entered: 'start' | 'wait'
    try {
      // It has to be readable before its turn comes.
      void job.journal
      entered = this.#registry.requestSlot(job)
    } catch (error) {
      job.detach()
      // Whoever tries it again opens it.
      this.#registry.events.release(job.feed)
      throw error
    }
    for (const { firing, value } of answers) job.remember(['answer', firing, value])
    if (entered === 'start') job.start()
    else job.enqueue()
    return job
  }

  #wakeDue(): void {
    this.#registry.steady.storeOffset()
    const most = this.#backoff.grant(DUE_AT_ONCE)
    if (most === 0) return this.#wakeTimer.scheduleIn(this.#backoff.wait_ms)
    const now = this.#registry.steady.now()
    const began = performance.now()
    if (now >= this.#reread_at) this.#readAgain(now)
    if (now >= this.#paused_until) this.#resumePausedUsers()
    const hasTime = () => performance.now() < began + READING_MS
    this.#registry.parts.store.read((tx) => this.#dueJobs.read(tx, now, hasTime))
    let tried = 0
    do {
      const job = this.#dueJobs.take()
      if (job === null) break
      if (this.#tryToWake(job, now)) tried++
    } while (tried < most && performance.now() < began + TURN_MS)
    this.#setWakeTimer(most === DUE_AT_ONCE ? TURN_MS : PAUSE_MS)
  }

  /** Rings soon where more is to be done, else when something is due, or may be tried again. */
  #setWakeTimer(pause_ms = TURN_MS): void {
    if (this.#dueJobs.hasMore) return this.#wakeTimer.scheduleIn(pause_ms)
    const next = this.#pausedUsers.size > 0 ? Math.min(this.#reread_at, this.#paused_until) : this.#reread_at
    const most_ms = Math.max(next - this.#registry.steady.now(), pause_ms)
    this.#wakeTimer.schedule({ after: this.#dueJobs.read_until, most_ms })
  }

  /** What is left alone takes no place in what is read: all is read again when its pause is over. */
  #readAgain(now: number): void {
    for (const [key, until] of this.#pausedJobs) if (until <= now) this.#pausedJobs.delete(key)
    this.#graphMemoryWaits.removeStale(now)
    this.#reread_at = now + READ_AGAIN_MS
    this.#dueJobs.rewind()
  }

  /** A due job cannot be woken now: it is tried again in so many milliseconds. */
  #tryAgainIn(ms: number): void {
    const least_ms = Math.max(LEAST_AGAIN_MS, this.#dueJobs.read_ms / READING_PART)
    this.#reread_at = Math.min(this.#reread_at, this.#registry.steady.now() + Math.max(ms, least_ms))
  }

  #pauseJob(job_key: number, ms: number): void {
    this.#pausedJobs.set(job_key, this.#registry.steady.now() + ms)
    this.#tryAgainIn(ms)
  }

  #resumePausedUsers(): void {
    for (const user_id of this.#pausedUsers) this.#dueJobs.resumeUser(user_id)
    this.#pausedUsers.clear()
  }

  #pauseUser(job: Pick<DueJob, 'user_id' | 'key'>): void {
    this.#dueJobs.putBack(job)
    this.#dueJobs.pauseUser(job.user_id)
    this.#pausedUsers.add(job.user_id)
    this.#paused_until = this.#registry.steady.now() + NO_ROOM_PAUSE_MS
  }

  /** Wakes a due job, if it can go on now; whether it was tried. */
  #tryToWake(job: Pick<DueJob, 'user_id' | 'key'>, now: number): boolean {
    const pause_ms = this.#pauseOf(job.key, now)
    if (pause_ms > 0) {
      this.#tryAgainIn(pause_ms)
      return false
    }
    const row = this.#readIfDue(job, now)
    if (!row) return false
    if (!this.#hasQueueCapacity(row, now)) this.#pauseUser(row)
    else if (this.#hasGraphMemory(row, now)) this.#wakePrepared(row, now)
    else this.#pauseJob(row.key, NO_ROOM_PAUSE_MS)
    return true
  }

  /** How long a due job is left alone, in milliseconds: somebody has it already, or could not write or read it a moment ago. */
  #pauseOf(key: number, now: number): number {
    if (this.#registry.findByKey(key) !== null) return TAKEN_PAUSE_MS
    const lost_ms = (this.#pausedJobs.get(key) ?? 0) - now
    if (lost_ms > 0) return lost_ms
    return this.#registry.unreadableJobs.canTry(key) ? 0 : Math.max(this.#registry.unreadableJobs.pauseOf(key), 1)
  }

  /** The row of a job that still waits and is due, and is sound. @throws SERVICE_UNAVAILABLE */
  #readIfDue(job: Pick<DueJob, 'user_id' | 'key'>, now: number): JobTable | null {
    try {
      const row = this.#registry.parts.store.read((tx) => findJobByKey(tx, job.key))
      return row?.status === 'paused' && row.wake_at !== null && row.wake_at <= now ? row : null
    } catch (error) {
      if (isDamagedDataError(error)) this.#pauseJob(job.key, POSTPONED_MS)
      else this.#dueJobs.putBack(job)
      if (isDamagedDataError(error)) return null
      throw error
    }
  }

  /** Whether a due job may run, or wait for its turn. One whose time is over needs no room. */
  #hasQueueCapacity(row: JobTable, now: number): boolean {
    const { queue } = this.#registry
    const [user, workflow] = [userShareKey(row), ownerScopeKey(row, row.workflow_id)]
    const { concurrent } = parseStoredOptions(row)
    return (
      queue.forecastAdmission({ user, workflow, exclusive: !concurrent }) !== 'full' || this.#isPastDeadline(row, now)
    )
  }

  /** Whether its graph may find room, as far as is known: it has to be compiled for that. */
  #hasGraphMemory(row: JobTable, now: number): boolean {
    const bytes = this.#graphMemoryWaits.bytesOf(row.key, now)
    return bytes === null || this.#registry.canHoldGraph(row, bytes) || this.#isPastDeadline(row, now)
  }

  #isPastDeadline(row: JobTable, now: number): boolean {
    const deadline = resolveDeadline(row, this.#registry)
    return deadline !== null && deadline <= now
  }

  /** Wakes a job as soon as its graph is compiled, and what it remembers is read. */
  #wakePrepared(row: JobTable, now: number): void {
    try {
      const preparing = this.#registry.prepare(row)
      if (preparing === null) this.#wake(row, now)
      else void this.#wakeAfter(preparing, row)
    } catch (error) {
      this.#onWakeFailed(row, error)
    }
  }

  /** Meanwhile other due jobs of the user wait. */
  async #wakeAfter(preparing: Promise<Disposable | null>, job: JobTable): Promise<void> {
    const { key, user_id } = job
    this.#dueJobs.pauseUser(user_id)
    try {
      using _ = await preparing
      if (this.#stopped) return
      if (this.#registry.parts.store.fault !== null) return this.#pauseJob(key, LOST_PAUSE_MS)
      // Meanwhile it may have gone on, or ended.
      const now = this.#registry.steady.now()
      const row = this.#registry.findByKey(key) ? null : this.#readIfDue(job, now)
      if (row) this.#wake(row, now)
    } catch (error) {
      if (!this.#stopped) this.#onWakeFailed(job, error)
    } finally {
      if (!this.#pausedUsers.has(user_id)) this.#dueJobs.resumeUser(user_id)
      this.#setWakeTimer()
    }
  }

  #onWakeFailed(row: JobTable, error: unknown): void {
    const { code } = toServiceError(error)
    if (error instanceof OutOfGraphMemoryError && !isSmallGraph(error)) return this.#waitForGraphMemory(row, error)
    if (code === 'QUEUE_FULL') return this.#pauseUser(row)
    if (error instanceof MemoryUnavailableError) return this.#pauseJob(row.key, LOST_PAUSE_MS)
    if (code === 'SERVICE_UNAVAILABLE') this.#backoff.recordFailure()
    this.#pauseJob(row.key, LOST_PAUSE_MS)
    if (!(error instanceof TransientFileError) && this.#registry.isFirstWriteFailure(row.key))
      this.#registry.log.error({ err: error, job_id: row.id }, 'a suspended job could not go on')
  }

  /** It keeps back no job with a smaller graph, of its user or of others. */
  #waitForGraphMemory({ key }: JobTable, { graph_bytes }: OutOfGraphMemoryError): void {
    this.#graphMemoryWaits.addRefusal(key, graph_bytes, this.#registry.steady.now())
    this.#pauseJob(key, NO_ROOM_PAUSE_MS)
  }

  #wake(row: JobTable, now: number): void {
    if (this.#isPastDeadline(row, now)) {
      this.#registry.adopt(row).job.end(createTimedOutEnding(parseStoredOptions(row).timeout_seconds!))
      return
    }
    const obstacle = this.#registry.obstacle(row)
    if (obstacle === 'damaged') return this.#registry.adopt(row).job.endDamaged(false)
    if (obstacle === 'not_runnable') return this.#postpone(row, now)
    const due = parseStoredWaits(row).filter(({ until }) => until !== null && until <= now)
    this.#continueJob(
      row,
      due.map(({ firing }) => ({ firing, value: null })),
    )
    this.#graphMemoryWaits.remove(row.key)
  }

  /** Another version may know how to run it: it stays suspended, and does not stand in the way of others. */
  #postpone(row: JobTable, now: number): void {
    const { store, log } = this.#registry.parts
    log.error({ job_id: row.id }, 'a suspended job is due, and this version of the server cannot run its graph')
    store
      .write((tx) => updateJob(tx, { ...row, wake_at: now + POSTPONED_MS }))
      .catch(() => this.#pauseJob(row.key, LOST_PAUSE_MS))
      .finally(() => this.#setWakeTimer())
  }
}
