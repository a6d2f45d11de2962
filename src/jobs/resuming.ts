// Lets suspended jobs go on: with a value that somebody gives, or because time has passed.
import { type DueJob, jobByKey, updateJob } from '../db/jobs.ts'
import type { JobTable } from '../db/schema.ts'
import { scopedKey, userKey } from '../db/scope.ts'
import { isDamage, ServiceError, toServiceError } from '../errors.ts'
import { NoRoom } from '../payloads/memory-account.ts'
import { type Doing, Schemas } from '../sandbox/schemas.ts'
import type { ActiveJob } from './active-job.ts'
import { Alarm } from './alarm.ts'
import { DueJobs } from './due-jobs.ts'
import { timedOut } from './endings.ts'
import { isSmallGraph, NoGraphRoom } from './graph-memory.ts'
import { GraphWaits } from './graph-waits.ts'
import { UnreadableNow } from './momentary.ts'
import type { Roster } from './roster.ts'
import { schemaProblems } from './schema-problems.ts'
import { optionsOf, steadyDeadline } from './stored-options.ts'
import { awaited, awaiting, type Whom, waitingOf } from './waiting.ts'
import { WriteBackoff } from './write-backoff.ts'

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
export interface Answer extends Whom {
  readonly value: unknown
  readonly at: string
}

export class Resuming {
  readonly #roster: Roster
  readonly #alarm: Alarm
  readonly #backoff: WriteBackoff
  readonly #schemas = new Schemas()
  readonly #due = new DueJobs()
  /** Users with due jobs for which there is no room: for a moment their jobs wait. */
  readonly #full = new Set<string>()
  #full_until = 0
  /** By job, until when one that could not go on is left alone. */
  readonly #lost = new Map<number, number>()
  readonly #graphWaits = new GraphWaits()
  /** When due jobs are read again, by the steady clock: never, as long as each of them could go on. */
  #again_at = Number.POSITIVE_INFINITY
  #stopped = false

  constructor(roster: Roster) {
    this.#roster = roster
    this.#backoff = new WriteBackoff(roster.parts.store)
    this.#alarm = new Alarm(
      roster.parts,
      () => roster.steady.now(),
      () => this.#wakeDue(),
    )
  }

  /** Sees to what is due, now and as time passes. */
  watch(): void {
    this.#roster.steady.keep()
    this.#setAlarm()
  }

  /** A job waits, and is to be seen to at some time. */
  rested(job: DueJob): void {
    this.#due.stored(job)
    this.watch()
  }

  /** The history of a job could not be written: it is left alone for a moment, and others are where the database is the reason. */
  failed(job_key: number): void {
    this.#backoff.failed()
    this.#leaveAlone(job_key, LOST_PAUSE_MS)
    this.#setAlarm()
  }

  stop(): void {
    this.#stopped = true
    this.#alarm.stop()
  }

  /**
   * Finds the firing of a suspended job that an answer is for, and judges its value. Meanwhile the job may have gone on.
   * @throws JOB_NOT_SUSPENDED, INVALID_PARAMETERS, INVALID_WORKFLOW_GRAPH where this version cannot run it, SERVICE_UNAVAILABLE; DATA_DAMAGED
   * where its graph is damaged: the job ends
   */
  async judge(row: JobTable, answer: Answer, ahead: number): Promise<string> {
    if (this.#roster.obstacle(row) === 'damaged') this.#roster.adopt(row).job.endDamaged(false)
    this.#roster.planOf(row)
    const requests = await this.#roster.memories.requests(row)
    const owner = userKey(row)
    // What thousands of firings wait for is long to read, and many may answer at once.
    await this.#roster.slices.turn(owner)
    const all = awaited(row, (firing) => requests.get(firing) ?? null)
    const { shown, request } = awaiting(all, answer, answer.at)
    const judged = { value: answer.value, at: `${answer.at}/value` }
    const doing: Doing = (steps) => this.#roster.slices.run(owner, steps)
    const found = await schemaProblems(this.#schemas, request, judged, { owner, doing, ahead })
    if (found.length > 0) {
      // What is told of a value may quote the schema.
      const problems = this.#roster.publisherOf(row).redact(found)
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
    if (!waitingOf(row).some((one) => one.firing === firing)) throw new ServiceError('JOB_NOT_SUSPENDED')
    return this.#goOn(row, [{ firing, value }])
  }

  #goOn(row: JobTable, answers: readonly { firing: string; value: unknown }[]): ActiveJob {
    const { job } = this.#roster.adopt(row)
    let entered: 'start' | 'wait'
    try {
      // It has to be readable before its turn comes.
      void job.memory
      entered = this.#roster.enter(job)
    } catch (error) {
      job.detach()
      // Whoever tries it again opens it.
      this.#roster.events.rest(job.feed)
      throw error
    }
    for (const { firing, value } of answers) job.remember(['answer', firing, value])
    if (entered === 'start') job.start()
    else job.enqueue()
    return job
  }

  #wakeDue(): void {
    this.#roster.steady.keep()
    const most = this.#backoff.grant(DUE_AT_ONCE)
    if (most === 0) return this.#alarm.ringIn(this.#backoff.wait_ms)
    const now = this.#roster.steady.now()
    const began = performance.now()
    if (now >= this.#again_at) this.#readAgain(now)
    if (now >= this.#full_until) this.#letFullBack()
    const hasTime = () => performance.now() < began + READING_MS
    this.#roster.parts.store.read((tx) => this.#due.read(tx, now, hasTime))
    let tried = 0
    do {
      const job = this.#due.take()
      if (job === null) break
      if (this.#tryToWake(job, now)) tried++
    } while (tried < most && performance.now() < began + TURN_MS)
    this.#setAlarm(most === DUE_AT_ONCE ? TURN_MS : PAUSE_MS)
  }

  /** Rings soon where more is to be done, else when something is due, or may be tried again. */
  #setAlarm(pause_ms = TURN_MS): void {
    if (this.#due.hasMore) return this.#alarm.ringIn(pause_ms)
    const next = this.#full.size > 0 ? Math.min(this.#again_at, this.#full_until) : this.#again_at
    const most_ms = Math.max(next - this.#roster.steady.now(), pause_ms)
    this.#alarm.set({ after: this.#due.until, most_ms })
  }

  /** What is left alone takes no place in what is read: all is read again when its pause is over. */
  #readAgain(now: number): void {
    for (const [key, until] of this.#lost) if (until <= now) this.#lost.delete(key)
    this.#graphWaits.tidy(now)
    this.#again_at = now + READ_AGAIN_MS
    this.#due.rewind()
  }

  /** A due job cannot be woken now: it is tried again in so many milliseconds. */
  #tryAgainIn(ms: number): void {
    const least_ms = Math.max(LEAST_AGAIN_MS, this.#due.read_ms / READING_PART)
    this.#again_at = Math.min(this.#again_at, this.#roster.steady.now() + Math.max(ms, least_ms))
  }

  #leaveAlone(job_key: number, ms: number): void {
    this.#lost.set(job_key, this.#roster.steady.now() + ms)
    this.#tryAgainIn(ms)
  }

  #letFullBack(): void {
    for (const user_id of this.#full) this.#due.letBack(user_id)
    this.#full.clear()
  }

  #noRoom(job: Pick<DueJob, 'user_id' | 'key'>): void {
    this.#due.putBack(job)
    this.#due.setAside(job.user_id)
    this.#full.add(job.user_id)
    this.#full_until = this.#roster.steady.now() + NO_ROOM_PAUSE_MS
  }

  /** Wakes a due job, if it can go on now; whether it was tried. */
  #tryToWake(job: Pick<DueJob, 'user_id' | 'key'>, now: number): boolean {
    const pause_ms = this.#pauseOf(job.key, now)
    if (pause_ms > 0) {
      this.#tryAgainIn(pause_ms)
      return false
    }
    const row = this.#stillDue(job, now)
    if (!row) return false
    if (!this.#hasRoom(row, now)) this.#noRoom(row)
    else if (this.#hasGraphRoom(row, now)) this.#wakePrepared(row, now)
    else this.#leaveAlone(row.key, NO_ROOM_PAUSE_MS)
    return true
  }

  /** How long a due job is left alone, in milliseconds: somebody has it already, or could not write or read it a moment ago. */
  #pauseOf(key: number, now: number): number {
    if (this.#roster.byKey(key) !== null) return TAKEN_PAUSE_MS
    const lost_ms = (this.#lost.get(key) ?? 0) - now
    if (lost_ms > 0) return lost_ms
    return this.#roster.unreadable.mayTry(key) ? 0 : Math.max(this.#roster.unreadable.pauseOf(key), 1)
  }

  /** The row of a job that still waits and is due, and is sound. @throws SERVICE_UNAVAILABLE */
  #stillDue(job: Pick<DueJob, 'user_id' | 'key'>, now: number): JobTable | null {
    try {
      const row = this.#roster.parts.store.read((tx) => jobByKey(tx, job.key))
      return row?.status === 'paused' && row.wake_at !== null && row.wake_at <= now ? row : null
    } catch (error) {
      if (isDamage(error)) this.#leaveAlone(job.key, POSTPONED_MS)
      else this.#due.putBack(job)
      if (isDamage(error)) return null
      throw error
    }
  }

  /** Whether a due job may run, or wait for its turn. One whose time is over needs no room. */
  #hasRoom(row: JobTable, now: number): boolean {
    const { queue } = this.#roster
    const [user, workflow] = [userKey(row), scopedKey(row, row.workflow_id)]
    const { concurrent } = optionsOf(row)
    return queue.outlook({ user, workflow, exclusive: !concurrent }) !== 'full' || this.#isOver(row, now)
  }

  /** Whether its graph may find room, as far as is known: it has to be compiled for that. */
  #hasGraphRoom(row: JobTable, now: number): boolean {
    const bytes = this.#graphWaits.bytesOf(row.key, now)
    return bytes === null || this.#roster.mayHold(row, bytes) || this.#isOver(row, now)
  }

  #isOver(row: JobTable, now: number): boolean {
    const deadline = steadyDeadline(row, this.#roster)
    return deadline !== null && deadline <= now
  }

  /** Wakes a job as soon as its graph is compiled, and what it remembers is read. */
  #wakePrepared(row: JobTable, now: number): void {
    try {
      const preparing = this.#roster.prepare(row)
      if (preparing === null) this.#wake(row, now)
      else void this.#wakeAfter(preparing, row)
    } catch (error) {
      this.#notWoken(row, error)
    }
  }

  /** Meanwhile other due jobs of the user wait. */
  async #wakeAfter(preparing: Promise<Disposable | null>, job: JobTable): Promise<void> {
    const { key, user_id } = job
    this.#due.setAside(user_id)
    try {
      using _ = await preparing
      if (this.#stopped) return
      if (this.#roster.parts.store.fault !== null) return this.#leaveAlone(key, LOST_PAUSE_MS)
      // Meanwhile it may have gone on, or ended.
      const now = this.#roster.steady.now()
      const row = this.#roster.byKey(key) ? null : this.#stillDue(job, now)
      if (row) this.#wake(row, now)
    } catch (error) {
      if (!this.#stopped) this.#notWoken(job, error)
    } finally {
      if (!this.#full.has(user_id)) this.#due.letBack(user_id)
      this.#setAlarm()
    }
  }

  #notWoken(row: JobTable, error: unknown): void {
    const { code } = toServiceError(error)
    if (error instanceof NoGraphRoom && !isSmallGraph(error)) return this.#noGraphRoom(row, error)
    if (code === 'QUEUE_FULL') return this.#noRoom(row)
    if (error instanceof NoRoom) return this.#leaveAlone(row.key, LOST_PAUSE_MS)
    if (code === 'SERVICE_UNAVAILABLE') this.#backoff.failed()
    this.#leaveAlone(row.key, LOST_PAUSE_MS)
    if (!(error instanceof UnreadableNow) && this.#roster.isFirstLoss(row.key))
      this.#roster.log.error({ err: error, job_id: row.id }, 'a suspended job could not go on')
  }

  /** It keeps back no job with a smaller graph, of its user or of others. */
  #noGraphRoom({ key }: JobTable, { graph_bytes }: NoGraphRoom): void {
    this.#graphWaits.refused(key, graph_bytes, this.#roster.steady.now())
    this.#leaveAlone(key, NO_ROOM_PAUSE_MS)
  }

  #wake(row: JobTable, now: number): void {
    if (this.#isOver(row, now)) {
      this.#roster.adopt(row).job.end(timedOut(optionsOf(row).timeout_seconds!))
      return
    }
    const obstacle = this.#roster.obstacle(row)
    if (obstacle === 'damaged') return this.#roster.adopt(row).job.endDamaged(false)
    if (obstacle === 'not_runnable') return this.#postpone(row, now)
    const due = waitingOf(row).filter(({ until }) => until !== null && until <= now)
    this.#goOn(
      row,
      due.map(({ firing }) => ({ firing, value: null })),
    )
    this.#graphWaits.woken(row.key)
  }

  /** Another version may know how to run it: it stays suspended, and does not stand in the way of others. */
  #postpone(row: JobTable, now: number): void {
    const { store, log } = this.#roster.parts
    log.error({ job_id: row.id }, 'a suspended job is due, and this version of the server cannot run its graph')
    store
      .write((tx) => updateJob(tx, { ...row, wake_at: now + POSTPONED_MS }))
      .catch(() => this.#leaveAlone(row.key, LOST_PAUSE_MS))
      .finally(() => this.#setAlarm())
  }
}
