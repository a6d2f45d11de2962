// Resumes suspended jobs whose delay or time limit has ended.
import { type DueJob, findJobByKey, updateJob } from '../../db/jobs/rows.ts'
import { ownerScopeKey, userShareKey } from '../../db/owner-scope.ts'
import type { JobTable } from '../../db/tables/jobs.ts'
import { isDamagedDataError, toServiceError } from '../../errors.ts'
import { MemoryUnavailableError } from '../../payloads/fair-memory-account.ts'
import type { ActiveJobRegistry } from '../active-job-registry.ts'
import { isSmallGraph, OutOfGraphMemoryError } from '../graph-memory-account.ts'
import type { JobContext } from '../job-context.ts'
import { createTimedOutEnding } from '../job-endings.ts'
import { TransientFileError } from '../recovery/transient-faults.ts'
import { WriteBackoff } from '../recovery/write-backoff.ts'
import { readStoredPlan } from '../stored-plans.ts'
import { parseStoredOptions, resolveDeadline } from '../submission/stored-options.ts'
import { DueJobQueue } from './due-job-queue.ts'
import { GraphMemoryWaits } from './graph-memory-waits.ts'
import { parseStoredWaits } from './stored-waits.ts'
import { continueSuspendedJob } from './suspended-job.ts'
import { WakeTimer } from './wake-timer.ts'

/** One turn handles this many due jobs, for this many milliseconds. The next turn comes after `TURN_MS`, or after `PAUSE_MS` where few jobs can be written. */
const DUE_AT_ONCE = 100
const TURN_MS = 20
const PAUSE_MS = 200
/** Milliseconds of a turn that are spent on reading due jobs. */
const READING_MS = TURN_MS / 2
/** Milliseconds for which the jobs of a user wait where there is no room for them. */
const NO_ROOM_PAUSE_MS = 1_000
/** Milliseconds until the next try of a job that the process already holds, and of a job that failed to continue. */
const TAKEN_PAUSE_MS = 1_000
const LOST_PAUSE_MS = 4_000
/** Due jobs are read again when a job may be retried: between these bounds in milliseconds, and for at most this part of the time. */
const LEAST_AGAIN_MS = 1_000
const READ_AGAIN_MS = 30_000
const READING_PART = 1 / 20
/** Milliseconds until the next try of a job that cannot run, or whose row is damaged. */
const POSTPONED_MS = 600_000

export class JobResumer {
  readonly #registry: ActiveJobRegistry
  readonly #context: JobContext
  readonly #wakeTimer: WakeTimer
  readonly #backoff: WriteBackoff
  readonly #dueJobs = new DueJobQueue()
  /** Users whose due jobs pause, since there is no room for them. */
  readonly #pausedUsers = new Set<string>()
  #paused_until = 0
  /** Jobs that could not continue, with the time of their next try. */
  readonly #pausedJobs = new Map<number, number>()
  readonly #graphMemoryWaits = new GraphMemoryWaits()
  /** The time when due jobs are read again, by the steady clock; infinite while every job could be resumed. */
  #reread_at = Number.POSITIVE_INFINITY
  #stopped = false

  constructor(registry: ActiveJobRegistry) {
    this.#registry = registry
    this.#context = registry.context
    this.#backoff = new WriteBackoff(registry.context.store)
    this.#wakeTimer = new WakeTimer(
      registry.context,
      () => registry.context.steady.now(),
      () => this.#wakeDue(),
    )
  }

  /** Starts the timer for due jobs. */
  scheduleWake(): void {
    this.#context.steady.storeOffset()
    this.#setWakeTimer()
  }

  /** Adds a suspended job with a wake time. */
  addSuspended(job: DueJob): void {
    this.#dueJobs.addStored(job)
    this.scheduleWake()
  }

  /** Called when the history of a job could not be written. The job pauses, and so do all jobs where the database is the reason. */
  addWriteFailure(job_key: number): void {
    this.#backoff.recordFailure()
    this.#pauseJob(job_key, LOST_PAUSE_MS)
    this.#setWakeTimer()
  }

  stop(): void {
    this.#stopped = true
    this.#wakeTimer.stop()
  }

  #wakeDue(): void {
    this.#context.steady.storeOffset()
    const most = this.#backoff.grant(DUE_AT_ONCE)
    if (most === 0) return this.#wakeTimer.scheduleIn(this.#backoff.wait_ms)
    const now = this.#context.steady.now()
    const began = performance.now()
    if (now >= this.#reread_at) this.#readAgain(now)
    if (now >= this.#paused_until) this.#resumePausedUsers()
    const hasTime = () => performance.now() < began + READING_MS
    this.#context.store.read((tx) => this.#dueJobs.read(tx, now, hasTime))
    let tried = 0
    do {
      const job = this.#dueJobs.take()
      if (job === null) break
      if (this.#tryToWake(job, now)) tried++
    } while (tried < most && performance.now() < began + TURN_MS)
    this.#setWakeTimer(most === DUE_AT_ONCE ? TURN_MS : PAUSE_MS)
  }

  /** Sets the timer: soon where more jobs are left, else for the next due job or retry. */
  #setWakeTimer(pause_ms = TURN_MS): void {
    if (this.#dueJobs.hasMore) return this.#wakeTimer.scheduleIn(pause_ms)
    const next = this.#pausedUsers.size > 0 ? Math.min(this.#reread_at, this.#paused_until) : this.#reread_at
    const most_ms = Math.max(next - this.#context.steady.now(), pause_ms)
    this.#wakeTimer.schedule({ after: this.#dueJobs.read_until, most_ms })
  }

  /** Paused jobs are not kept in the queue, so all due jobs are read again when a pause is over. */
  #readAgain(now: number): void {
    for (const [key, until] of this.#pausedJobs) if (until <= now) this.#pausedJobs.delete(key)
    this.#graphMemoryWaits.removeStale(now)
    this.#reread_at = now + READ_AGAIN_MS
    this.#dueJobs.rewind()
  }

  /** Schedules the next read for a due job that cannot be woken now, in `ms` milliseconds. */
  #tryAgainIn(ms: number): void {
    const least_ms = Math.max(LEAST_AGAIN_MS, this.#dueJobs.read_ms / READING_PART)
    this.#reread_at = Math.min(this.#reread_at, this.#context.steady.now() + Math.max(ms, least_ms))
  }

  #pauseJob(job_key: number, ms: number): void {
    this.#pausedJobs.set(job_key, this.#context.steady.now() + ms)
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
    this.#paused_until = this.#context.steady.now() + NO_ROOM_PAUSE_MS
  }

  /** Wakes a due job if it can continue now. It returns whether this was tried. */
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

  /** Milliseconds for which a due job pauses: the process holds it already, or could not write or read it a moment ago. */
  #pauseOf(key: number, now: number): number {
    if (this.#registry.findByKey(key) !== null) return TAKEN_PAUSE_MS
    const paused_ms = (this.#pausedJobs.get(key) ?? 0) - now
    if (paused_ms > 0) return paused_ms
    return this.#context.unreadableJobs.canTry(key) ? 0 : Math.max(this.#context.unreadableJobs.pauseOf(key), 1)
  }

  /** The row of a job, if it is still suspended, due and undamaged. @throws SERVICE_UNAVAILABLE */
  #readIfDue(job: Pick<DueJob, 'user_id' | 'key'>, now: number): JobTable | null {
    try {
      const row = this.#context.store.read((tx) => findJobByKey(tx, job.key))
      return row?.status === 'paused' && row.wake_at !== null && row.wake_at <= now ? row : null
    } catch (error) {
      if (isDamagedDataError(error)) this.#pauseJob(job.key, POSTPONED_MS)
      else this.#dueJobs.putBack(job)
      if (isDamagedDataError(error)) return null
      throw error
    }
  }

  /** Whether a due job gets a slot or a place in the queue. A job past its deadline needs neither. */
  #hasQueueCapacity(row: JobTable, now: number): boolean {
    const { queue } = this.#registry
    const [user, workflow] = [userShareKey(row), ownerScopeKey(row, row.workflow_id)]
    const { concurrent } = parseStoredOptions(row)
    return (
      queue.forecastAdmission({ user, workflow, exclusive: !concurrent }) !== 'full' || this.#isPastDeadline(row, now)
    )
  }

  /** Whether the graph may find room. It is unknown, and assumed, before the graph was compiled once. */
  #hasGraphMemory(row: JobTable, now: number): boolean {
    const bytes = this.#graphMemoryWaits.bytesOf(row.key, now)
    return bytes === null || this.#registry.canHoldGraph(row, bytes) || this.#isPastDeadline(row, now)
  }

  #isPastDeadline(row: JobTable, now: number): boolean {
    const deadline = resolveDeadline(row, this.#context)
    return deadline !== null && deadline <= now
  }

  /** Wakes a job once its graph is compiled, and its journal is read. */
  #wakePrepared(row: JobTable, now: number): void {
    try {
      const preparing = this.#registry.prepare(row)
      if (preparing === null) this.#wake(row, now)
      else void this.#wakeAfter(preparing, row)
    } catch (error) {
      this.#onWakeFailed(row, error)
    }
  }

  /** Other due jobs of the user wait meanwhile. */
  async #wakeAfter(preparing: Promise<Disposable | null>, job: JobTable): Promise<void> {
    const { key, user_id } = job
    this.#dueJobs.pauseUser(user_id)
    try {
      using _ = await preparing
      if (this.#stopped) return
      if (this.#context.store.fault !== null) return this.#pauseJob(key, LOST_PAUSE_MS)
      // The job may have continued or ended meanwhile.
      const now = this.#context.steady.now()
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
      this.#context.log.error({ err: error, job_id: row.id }, 'a suspended job could not be resumed')
  }

  /** Pauses this job alone: jobs with smaller graphs, even of the same user, are not held back. */
  #waitForGraphMemory({ key }: JobTable, { graph_bytes }: OutOfGraphMemoryError): void {
    this.#graphMemoryWaits.addRefusal(key, graph_bytes, this.#context.steady.now())
    this.#pauseJob(key, NO_ROOM_PAUSE_MS)
  }

  #wake(row: JobTable, now: number): void {
    if (this.#isPastDeadline(row, now)) {
      this.#registry.adopt(row).job.end(createTimedOutEnding(parseStoredOptions(row).timeout_seconds!))
      return
    }
    const { obstacle } = readStoredPlan(this.#context.plans, row)
    if (obstacle === 'damaged') return this.#registry.adopt(row).job.endDamaged(false)
    if (obstacle === 'not_runnable') return this.#postpone(row, now)
    const due = parseStoredWaits(row).filter(({ until }) => until !== null && until <= now)
    const answers = due.map(({ firing }) => ({ firing, value: null }))
    continueSuspendedJob(this.#registry, row, answers)
    this.#graphMemoryWaits.remove(row.key)
  }

  /** Another version may be able to run the job, so it stays suspended. Its wake time is moved so that it does not block others. */
  #postpone(row: JobTable, now: number): void {
    const { store, log } = this.#context
    log.error({ job_id: row.id }, 'a suspended job is due, and this version of the server cannot run its graph')
    store
      .write((tx) => updateJob(tx, { ...row, wake_at: now + POSTPONED_MS }))
      .catch(() => this.#pauseJob(row.key, LOST_PAUSE_MS))
      .finally(() => this.#setWakeTimer())
  }
}
