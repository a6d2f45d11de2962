// Lets suspended jobs go on: with a value that somebody gives, or because time has passed.
import { jobsToWake, updateJob } from '../db/jobs.ts'
import type { JobTable } from '../db/schema.ts'
import { ServiceError, toServiceError } from '../errors.ts'
import type { ActiveJob } from './active-job.ts'
import { Alarm } from './alarm.ts'
import { timedOut } from './endings.ts'
import type { Roster } from './roster.ts'
import { schemaProblems } from './schema-problems.ts'
import { deadlineOf, optionsOf } from './stored-options.ts'
import { awaiting, type Whom, waitingOf } from './waiting.ts'

/** How many due jobs are seen to at once, and the pause after that, or where there is no room for them. */
const DUE_AT_ONCE = 100
const PAUSE_MS = 200
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

  constructor(roster: Roster) {
    this.#roster = roster
    this.#alarm = new Alarm(
      roster.parts.store,
      () => roster.platform.now(),
      () => this.#wakeDue(),
    )
  }

  /** Looks when the next delay is over. */
  watch(): void {
    this.#alarm.set()
  }

  stop(): void {
    this.#alarm.stop()
  }

  /**
   * Gives a suspended job, which nobody has in memory, a value that it waits for.
   * @throws JOB_NOT_SUSPENDED, INVALID_PARAMETERS, INVALID_WORKFLOW_GRAPH where this version cannot run it, QUEUE_FULL; it stays suspended then
   */
  resume(row: JobTable, answer: Answer): ActiveJob {
    if (row.status !== 'paused') throw new ServiceError('JOB_NOT_SUSPENDED')
    this.#roster.planOf(row)
    const { firing, schema } = awaiting(row, answer, answer.at)
    const problems = schema === null ? [] : schemaProblems(schema, answer.value, `${answer.at}/value`)
    if (problems.length > 0) {
      const message = `The value is not what the job waits for: ${problems[0]!.message}`
      throw new ServiceError('INVALID_PARAMETERS', { problems, message })
    }
    return this.#goOn(row, [{ firing, value: answer.value }])
  }

  #goOn(row: JobTable, answers: readonly { firing: string; value: unknown }[]): ActiveJob {
    const { job } = this.#roster.adopt(row)
    let entered: 'start' | 'wait'
    try {
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
    const now = this.#roster.platform.now()
    let left = false
    for (const row of this.#roster.parts.store.read((tx) => jobsToWake(tx, now, DUE_AT_ONCE))) {
      if (this.#roster.byKey(row.key)) continue
      try {
        this.#wake(row, now)
      } catch (error) {
        left = true
        const { code } = toServiceError(error)
        if (code !== 'QUEUE_FULL')
          this.#roster.log.error({ err: error, job_id: row.id }, 'a suspended job could not go on')
      }
    }
    this.#alarm.set(left ? PAUSE_MS * 5 : PAUSE_MS)
  }

  #wake(row: JobTable, now: number): void {
    const deadline = deadlineOf(row)
    if (deadline !== null && deadline <= now) {
      this.#roster.adopt(row).job.end(timedOut(optionsOf(row).timeout_seconds!))
      return
    }
    if (!this.#roster.runnable(row)) {
      this.#postpone(row, now)
      return
    }
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
