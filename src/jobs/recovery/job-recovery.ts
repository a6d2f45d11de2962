// What becomes of jobs that an earlier process left unfinished, or whose history could not be written for a while: queued ones wait again,
// in their order; running ones go on from what they remember; those that were to be cancelled are.
import type { ErrorCode } from '../../../generated/errors.ts'
import { findJobByKey, findJobForList, listRecoverableJobKeys } from '../../db/jobs/rows.ts'
import type { JobTable, StoredStatus } from '../../db/schema.ts'
import { isDamagedDataError, ServiceError } from '../../errors.ts'
import { MemoryUnavailableError } from '../../payloads/fair-memory-account.ts'
import type { ActiveJob } from '../active-job.ts'
import type { ActiveJobRegistry } from '../active-job-registry.ts'
import { CANCELLED_ENDING, createInterruptedEnding } from '../job-endings.ts'
import { isTerminal } from '../state-machine.ts'
import { TransientFileError } from './transient-faults.ts'
import { WriteBackoff } from './write-backoff.ts'

/** How often a job may be interrupted without having got any further: it may be what brings the process down. */
const MOST_IDLE_RECOVERIES = 20

/** Milliseconds until a job whose history could not be written is tried again. */
const RETRY_PAUSE_MS = 1_000

/** What a job is told whose history cannot be written, or whose graph takes more memory than the server has now. */
const WRITE_FAILURE_CODES: readonly ErrorCode[] = ['SERVICE_UNAVAILABLE', 'OUTCOME_UNKNOWN', 'REQUEST_TOO_LARGE']

const RESTARTED_MESSAGE = 'The server was interrupted and goes on with the job.'

export interface RecoveryCounts {
  running: number
  waiting: number
  ended: number
}

type RecoveryAction = 'queue' | 'run' | 'end'

/** Of jobs that rest, or have ended, there is nothing to take over. */
const RECOVERY_ACTIONS: Readonly<Partial<Record<StoredStatus, RecoveryAction>>> = {
  scheduled: 'queue',
  pending: 'queue',
  queued: 'queue',
  running: 'run',
  recovering: 'run',
  cancel_requested: 'end',
}

export class JobRecovery {
  readonly #registry: ActiveJobRegistry
  readonly #strays = new Set<number>()
  readonly #backoff: WriteBackoff
  #timer: NodeJS.Timeout | null = null
  #stopped = false

  constructor(roster: ActiveJobRegistry) {
    this.#registry = roster
    this.#backoff = new WriteBackoff(roster.parts.store)
  }

  /**
   * Takes over what an earlier process left. What has been running comes before what was waiting. `open` of the queue lets them run.
   * `orderly`: that process stopped by itself, so that no job is to blame for it.
   */
  async restore(orderly: boolean): Promise<RecoveryCounts> {
    const counts = { running: 0, waiting: 0, ended: 0 }
    const running: ActiveJob[] = []
    const waiting: ActiveJob[] = []
    const ended: Promise<void>[] = []
    const isWritable = this.#backoff.grant(1) > 0
    const { store } = this.#registry.parts
    // Each is read when its turn comes: all rows together may be more than memory has.
    for (const key of store.read(listRecoverableJobKeys)) {
      const row = store.read((tx) => findJobForList(tx, key))
      const fate = row && RECOVERY_ACTIONS[row.status]
      if (!fate) continue
      if (!isWritable) {
        this.addStray(row.key)
        continue
      }
      const job = await this.#tryTakeOver(row, fate, orderly)
      if (job === null) continue
      if (job.terminal) ended.push(job.flushed())
      else if (fate === 'run') running.push(job)
      else waiting.push(job)
    }
    // While others were read or compiled, the history of a job may have failed to be written: it is a stray then, and must not run.
    const isActive = (job: ActiveJob) => this.#registry.findByKey(job.row.key) === job
    const [toRun, toWait] = [running.filter(isActive), waiting.filter(isActive)]
    counts.running = toRun.length
    counts.waiting = toWait.length
    counts.ended = ended.length
    this.#registry.restore([...toRun, ...toWait])
    for (const job of toWait) if (job.row.status !== 'queued') job.enqueue()
    // A job that could not be stored now, as on a full disk, is among the strays: the server starts, and it goes on later.
    await Promise.allSettled([...ended, ...toRun.map((job) => job.flushed())])
    return counts
  }

  /** Null where it cannot go on now: the other jobs do without it. It is tried again, unless what it needs is damaged. */
  async #tryTakeOver(row: JobTable, fate: RecoveryAction, orderly: boolean): Promise<ActiveJob | null> {
    try {
      using _ = await this.#prepare(row, fate)
      return this.#takeOver(row, fate, orderly)
    } catch (err) {
      // The log knows of a file that cannot be read.
      if (err instanceof MemoryUnavailableError) this.#registry.log.info({ job_id: row.id }, 'a job waits for memory')
      else if (!(err instanceof TransientFileError))
        this.#registry.parts.log.error({ err, job_id: row.id }, 'a job of an earlier process cannot go on')
      if (!isDamagedDataError(err)) this.addStray(row.key)
      return null
    }
  }

  /** Has at hand what it takes over of a job that is to run at once; of one that waits, the graph alone. */
  #prepare(row: JobTable, fate: RecoveryAction): Promise<Disposable | null> | null {
    if (fate === 'run') return this.#registry.prepare(row)
    return this.#registry.preparePlan(row)?.then(() => null) ?? null
  }

  /** A job that has ended where nothing more can be done for it, else one that is to be run. */
  #takeOver(row: JobTable, fate: RecoveryAction, orderly: boolean): ActiveJob {
    const { job, obstacle } = this.#registry.adopt(row)
    if (fate === 'end') job.end(CANCELLED_ENDING)
    else if (obstacle === 'damaged') job.endDamaged(false)
    else if (obstacle === 'not_runnable')
      job.end(createInterruptedEnding('The server was interrupted, and its present version cannot run the graph.'))
    else if (fate === 'run') {
      if (job.journal.idle_recoveries < MOST_IDLE_RECOVERIES) job.recover(RESTARTED_MESSAGE, orderly)
      else
        job.end(
          createInterruptedEnding(`The job was interrupted ${MOST_IDLE_RECOVERIES} times without getting any further.`),
        )
    }
    return job
  }

  /** Remembers a job whose history could not be written, to go on with it when it can. */
  addStray(job_key: number): void {
    this.#backoff.recordFailure()
    this.#strays.add(job_key)
    this.#scheduleRound()
  }

  /** Ends a job whose history cannot be written because something that is stored of it is damaged: tried again, it would only meet that again. */
  endDamaged(job_key: number): void {
    if (this.#stopped) return
    const { store, events } = this.#registry.parts
    try {
      const row = store.read((tx) => findJobByKey(tx, job_key))
      if (row && !isTerminal(row.status)) this.#registry.adopt(row).job.endDamaged(true)
    } catch (error) {
      // Its own row cannot be read: nothing can be told of it, not even its end.
      const feed = events.feed(job_key)
      if (feed) events.abandon(feed)
      if (!isDamagedDataError(error)) this.addStray(job_key)
    }
  }

  /** Goes on with a job that nobody runs, if it is stored and has not ended. @throws SERVICE_UNAVAILABLE */
  async continueJob(job_key: number): Promise<void> {
    this.#strays.delete(job_key)
    const left = this.#findStray(job_key)
    if (!left) return
    const preparing = this.#prepare(left.row, left.fate)
    using _ = preparing && (await preparing)
    // While much was read or compiled, somebody else may have gone on with the job.
    const stray = preparing ? this.#findStray(job_key) : left
    if (!stray) return
    const job = this.#takeOver(stray.row, stray.fate, true)
    this.#registry.unreadableJobs.markContinued(job_key)
    if (!job.terminal) {
      this.#registry.restore([job])
      if (stray.row.status === 'pending') job.enqueue()
    }
    await job.flushed()
    this.#registry.clearWriteFailure(job_key)
    this.#registry.queue.admitRestored([job])
  }

  /** A stored job that has not ended and that nobody runs, though somebody should; null where it is none. */
  #findStray(job_key: number): { readonly row: JobTable; readonly fate: RecoveryAction } | null {
    if (this.#stopped || this.#registry.findByKey(job_key)) return null
    const row = this.#registry.parts.store.read((tx) => findJobByKey(tx, job_key))
    if (!row || isTerminal(row.status)) {
      this.#registry.clearWriteFailure(job_key)
      return null
    }
    const fate = RECOVERY_ACTIONS[row.status]
    return fate ? { row, fate } : null
  }

  /** The same, as far as it can be stored now; what cannot is tried again later. */
  async tryContinueJob(job_key: number): Promise<void> {
    // While nothing can be written, each read would only fail to write.
    if (this.#strays.has(job_key) && this.#registry.parts.store.fault !== null) return
    if (!this.#registry.unreadableJobs.canTry(job_key)) return
    try {
      await this.continueJob(job_key)
    } catch (error) {
      if (!(error instanceof ServiceError) || !WRITE_FAILURE_CODES.includes(error.code)) throw error
      this.addStray(job_key)
    }
  }

  stop(): void {
    this.#stopped = true
    if (this.#timer) clearTimeout(this.#timer)
  }

  #scheduleRound(): void {
    if (this.#timer || this.#stopped) return
    this.#timer = setTimeout(() => void this.#runRound(), Math.max(this.#backoff.wait_ms, RETRY_PAUSE_MS))
    this.#timer.unref()
  }

  async #runRound(): Promise<void> {
    this.#timer = null
    if (this.#backoff.grant(1) > 0) await this.#continueStrays()
    if (this.#strays.size > 0) this.#scheduleRound()
  }

  /** One after the other: while the database cannot be written, the others are not touched. */
  async #continueStrays(): Promise<void> {
    for (const job_key of [...this.#strays]) {
      if (this.#stopped || this.#registry.parts.store.fault !== null) return
      if (!this.#registry.unreadableJobs.canTry(job_key)) continue
      try {
        await this.continueJob(job_key)
      } catch (error) {
        // It was lost again, which the log has said, and its turn comes again. What is damaged stays so.
        if (!isDamagedDataError(error)) this.addStray(job_key)
      }
    }
  }
}
