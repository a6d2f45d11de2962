// Lets suspended jobs go on: with a value that somebody gives, or because time has passed.
import { jobByKey, jobsToWake, updateJob } from '../db/jobs.ts'
import type { JobTable } from '../db/schema.ts'
import { scopedKey, userKey } from '../db/scope.ts'
import { ServiceError, toServiceError } from '../errors.ts'
import { Schemas } from '../sandbox/schemas.ts'
import type { ActiveJob } from './active-job.ts'
import { Alarm } from './alarm.ts'
import { timedOut } from './endings.ts'
import { UnreadableNow } from './momentary.ts'
import type { Roster } from './roster.ts'
import { schemaProblems } from './schema-problems.ts'
import { optionsOf, steadyDeadline } from './stored-options.ts'
import { awaited, awaiting, type Whom, waitingOf } from './waiting.ts'
import { WriteBackoff } from './write-backoff.ts'

/** How many due jobs are seen to at once, and the pause after that; and the one where there is no room for them. */
const DUE_AT_ONCE = 100
const PAUSE_MS = 200
const NO_ROOM_PAUSE_MS = 1_000
/** How long due jobs are seen to in one turn of the event loop, and when the next turn comes, in milliseconds. */
const TURN_MS = 20
/** How often due jobs are read at once, because those of users who have to wait stood in front of others. */
const MOST_READS = 10
/** How long a job whose history could not be written is left alone. */
const LOST_PAUSE_MS = 4_000
/** How long a job that cannot be run is left alone. */
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
  /** Users of due jobs with large graphs that are compiled, or much that is read: their other due jobs wait. */
  readonly #compiling = new Set<string>()
  /** Users with due jobs for which there is no room: until all others have been seen to, their jobs wait. */
  readonly #full = new Set<string>()
  /** By job, when one whose history could not be written may be woken again. */
  readonly #lost = new Map<number, number>()
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

  /** Looks when the next delay is over. */
  watch(): void {
    this.#roster.steady.keep()
    this.#alarm.set()
  }

  /** The history of a job could not be written: it is left alone for a moment, and others are where the database is the reason. */
  failed(job_key: number): void {
    this.#backoff.failed()
    this.#lost.set(job_key, this.#roster.steady.now() + LOST_PAUSE_MS)
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
  async judge(row: JobTable, answer: Answer): Promise<string> {
    if (this.#roster.obstacle(row) === 'damaged') this.#roster.adopt(row).job.endDamaged(false)
    this.#roster.planOf(row)
    const requests = await this.#roster.memories.requests(row)
    const all = awaited(row, (firing) => requests.get(firing) ?? null)
    const { shown, request } = awaiting(all, answer, answer.at)
    const judged = { value: answer.value, at: `${answer.at}/value` }
    const found = await schemaProblems(this.#schemas, request, judged, (steps) =>
      this.#roster.slices.run(userKey(row), steps),
    )
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
    if (most === 0) return this.#alarm.set(this.#backoff.wait_ms)
    const now = this.#roster.steady.now()
    for (const [key, until] of this.#lost) if (until <= now) this.#lost.delete(key)
    const turn_ends = performance.now() + TURN_MS
    const tried = new Set<number>()
    let [reads, found, left, isCut] = [0, 0, false, false]
    let waiting: number
    do {
      waiting = this.#compiling.size + this.#full.size
      for (const row of this.#due(now)) {
        found++
        isCut = tried.size >= most || (tried.size > 0 && performance.now() >= turn_ends)
        if (isCut) break
        if (tried.has(row.key) || this.#compiling.has(row.user_id) || this.#isLeftAlone(row)) continue
        if (!this.#hasRoom(row, now)) {
          this.#full.add(row.user_id)
          continue
        }
        tried.add(row.key)
        if (!this.#wakePrepared(row, now)) left = true
      }
      // The jobs of a user who has to wait since then may have kept those of others out of what was read.
    } while (this.#compiling.size + this.#full.size > waiting && !isCut && ++reads < MOST_READS)
    const isThrough = !isCut && this.#compiling.size + this.#full.size === waiting
    if (this.#full.size > 0 && isThrough) left = true
    if (isThrough) this.#full.clear()
    // What is due and is not found is damaged: it stays so.
    if (found === 0 && !left) this.#alarm.set(0, now)
    else if (isCut && most === DUE_AT_ONCE) this.#alarm.set(TURN_MS)
    else this.#alarm.set(left ? NO_ROOM_PAUSE_MS : PAUSE_MS)
  }

  /** Whether somebody has a due job already, or could not write or read it a moment ago. */
  #isLeftAlone({ key }: JobTable): boolean {
    return this.#roster.byKey(key) !== null || this.#lost.has(key) || !this.#roster.unreadable.mayTry(key)
  }

  #due(now: number): JobTable[] {
    const users = [...this.#compiling, ...this.#full]
    return this.#roster.parts.store.read((tx) => jobsToWake(tx, now, users, DUE_AT_ONCE))
  }

  /** Whether a due job may run, or wait for its turn. One whose time is over needs no room. */
  #hasRoom(row: JobTable, now: number): boolean {
    const { queue } = this.#roster
    const [user, workflow] = [userKey(row), scopedKey(row, row.workflow_id)]
    const { concurrent } = optionsOf(row)
    return queue.outlook({ user, workflow, exclusive: !concurrent }) !== 'full' || this.#isOver(row, now)
  }

  #isOver(row: JobTable, now: number): boolean {
    const deadline = steadyDeadline(row, this.#roster)
    return deadline !== null && deadline <= now
  }

  /** Wakes a job as soon as its graph is compiled, and what it remembers is read. False: it is left for a later round. */
  #wakePrepared(row: JobTable, now: number): boolean {
    try {
      const preparing = this.#roster.prepare(row)
      if (preparing === null) this.#wake(row, now)
      else void this.#wakeAfter(preparing, row)
      return true
    } catch (error) {
      this.#notWoken(row, error)
      return false
    }
  }

  async #wakeAfter(preparing: Promise<Disposable | null>, { key, id, user_id }: JobTable): Promise<void> {
    this.#compiling.add(user_id)
    try {
      using _ = await preparing
      if (this.#stopped || this.#roster.parts.store.fault !== null) return
      // Meanwhile it may have gone on, or ended.
      const now = this.#roster.steady.now()
      const row = this.#roster.byKey(key) ? undefined : this.#roster.parts.store.read((tx) => jobByKey(tx, key))
      if (row?.status === 'paused' && row.wake_at !== null && row.wake_at <= now) this.#wake(row, now)
    } catch (error) {
      if (!this.#stopped) this.#notWoken({ id, key }, error)
    } finally {
      this.#compiling.delete(user_id)
      this.#alarm.set(PAUSE_MS)
    }
  }

  #notWoken({ id, key }: Pick<JobTable, 'id' | 'key'>, error: unknown): void {
    const { code } = toServiceError(error)
    if (code === 'QUEUE_FULL') return
    if (code === 'SERVICE_UNAVAILABLE') this.#backoff.failed()
    if (!(error instanceof UnreadableNow) && this.#roster.isFirstLoss(key))
      this.#roster.log.error({ err: error, job_id: id }, 'a suspended job could not go on')
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
  }

  /** Another version may know how to run it: it stays suspended, and does not stand in the way of others. */
  #postpone(row: JobTable, now: number): void {
    const { store, log } = this.#roster.parts
    log.error({ job_id: row.id }, 'a suspended job is due, and this version of the server cannot run its graph')
    store.write((tx) => updateJob(tx, { ...row, wake_at: now + POSTPONED_MS })).catch(() => {})
  }
}
