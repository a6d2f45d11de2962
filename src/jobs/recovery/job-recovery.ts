// Recovers the unfinished jobs of an earlier process, and jobs whose history could not be written for a while. Queued jobs wait again in their order,
// running jobs continue from their journals, and jobs with a requested cancellation are cancelled.
import type { ErrorCode } from '../../../generated/errors.ts'
import { findJobByKey, findJobForList, listRecoverableJobKeys } from '../../db/jobs/rows.ts'
import type { JobTable, StoredStatus } from '../../db/tables/jobs.ts'
import { isDamagedDataError, ServiceError } from '../../errors.ts'
import { MemoryUnavailableError } from '../../payloads/fair-memory-account.ts'
import type { ActiveJob } from '../active-job.ts'
import type { ActiveJobRegistry } from '../active-job-registry.ts'
import type { JobContext } from '../job-context.ts'
import { CANCELLED_ENDING, createInterruptedEnding } from '../job-endings.ts'
import { isTerminal } from '../state-machine.ts'
import { preparePlan } from '../stored-plans.ts'
import { TransientFileError } from './transient-faults.ts'
import { WriteBackoff } from './write-backoff.ts'

/** So many interruptions without progress end a job: it may be the cause of the crashes. */
const MOST_IDLE_RECOVERIES = 20

/** Milliseconds until the next try of a job whose history could not be written. */
const RETRY_PAUSE_MS = 1_000

/** Codes of failures that may pass: the history cannot be written, or the graph takes more memory than is free now. */
const WRITE_FAILURE_CODES: readonly ErrorCode[] = ['SERVICE_UNAVAILABLE', 'OUTCOME_UNKNOWN', 'REQUEST_TOO_LARGE']

const RESTARTED_MESSAGE = 'The server was interrupted and now continues the job.'

export interface RecoveryCounts {
  running: number
  waiting: number
  ended: number
}

type RecoveryAction = 'queue' | 'run' | 'end'

/** What happens to an unfinished job. Suspended and ended jobs need no recovery. */
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
  readonly #context: JobContext
  readonly #strays = new Set<number>()
  readonly #backoff: WriteBackoff
  #timer: NodeJS.Timeout | null = null
  #stopped = false

  constructor(registry: ActiveJobRegistry) {
    this.#registry = registry
    this.#context = registry.context
    this.#backoff = new WriteBackoff(registry.context.store)
  }

  /**
   * Takes over the unfinished jobs of an earlier process, running jobs before queued ones. `JobQueue.admitRestored` lets them run.
   * `orderly`: that process stopped in order, so that no job can be the cause.
   */
  async restore(orderly: boolean): Promise<RecoveryCounts> {
    const counts = { running: 0, waiting: 0, ended: 0 }
    const running: ActiveJob[] = []
    const waiting: ActiveJob[] = []
    const ended: Promise<void>[] = []
    const isWritable = this.#backoff.grant(1) > 0
    const { store } = this.#context
    // Rows are read one by one, since all together may not fit into memory.
    for (const key of store.read(listRecoverableJobKeys)) {
      const row = store.read((tx) => findJobForList(tx, key))
      const action = row && RECOVERY_ACTIONS[row.status]
      if (!action) continue
      if (!isWritable) {
        this.addStray(row.key)
        continue
      }
      const job = await this.#tryTakeOver(row, action, orderly)
      if (job === null) continue
      if (job.terminal) ended.push(job.flushed())
      else if (action === 'run') running.push(job)
      else waiting.push(job)
    }
    // The history of a job may have failed to be written while others were read. Such a job is a stray, and must not run.
    const isActive = (job: ActiveJob) => this.#registry.findByKey(job.row.key) === job
    const [toRun, toWait] = [running.filter(isActive), waiting.filter(isActive)]
    counts.running = toRun.length
    counts.waiting = toWait.length
    counts.ended = ended.length
    this.#registry.restore([...toRun, ...toWait])
    for (const job of toWait) if (job.row.status !== 'queued') job.enqueue()
    // A job that could not be stored, as on a full disk, is a stray that continues later. The server starts nevertheless.
    await Promise.allSettled([...ended, ...toRun.map((job) => job.flushed())])
    return counts
  }

  /** Null where the job cannot continue now. It is retried later, unless its data is damaged. Other jobs are not affected. */
  async #tryTakeOver(row: JobTable, action: RecoveryAction, orderly: boolean): Promise<ActiveJob | null> {
    try {
      using _ = await this.#prepare(row, action)
      return this.#takeOver(row, action, orderly)
    } catch (err) {
      // A file that cannot be read is logged already.
      if (err instanceof MemoryUnavailableError) this.#context.log.info({ job_id: row.id }, 'a job waits for memory')
      else if (!(err instanceof TransientFileError))
        this.#context.log.error({ err, job_id: row.id }, 'a job of an earlier process cannot continue')
      if (!isDamagedDataError(err)) this.addStray(row.key)
      return null
    }
  }

  /** Prepares the take-over: the graph and the journal of a job that runs at once, the graph alone of a queued job. */
  #prepare(row: JobTable, action: RecoveryAction): Promise<Disposable | null> | null {
    if (action === 'run') return this.#registry.prepare(row)
    return preparePlan(this.#context.plans, row)?.then(() => null) ?? null
  }

  /** Takes over a job, and ends it where it cannot continue. */
  #takeOver(row: JobTable, action: RecoveryAction, orderly: boolean): ActiveJob {
    const { job, obstacle } = this.#registry.adopt(row)
    if (action === 'end') job.end(CANCELLED_ENDING)
    else if (obstacle === 'damaged') job.endDamaged(false)
    else if (obstacle === 'not_runnable')
      job.end(createInterruptedEnding('The server was interrupted, and its current version cannot run the graph.'))
    else if (action === 'run') {
      if (job.journal.idle_recoveries < MOST_IDLE_RECOVERIES) job.recover(RESTARTED_MESSAGE, orderly)
      else
        job.end(
          createInterruptedEnding(`The job was interrupted ${MOST_IDLE_RECOVERIES} times without making progress.`),
        )
    }
    return job
  }

  /** Adds a job whose history could not be written, to continue it later. */
  addStray(job_key: number): void {
    this.#backoff.recordFailure()
    this.#strays.add(job_key)
    this.#scheduleRound()
  }

  /** Ends a job whose history cannot be written since its stored data is damaged. A retry would only meet the damage again. */
  endDamaged(job_key: number): void {
    if (this.#stopped) return
    const { store, events } = this.#context
    try {
      const row = store.read((tx) => findJobByKey(tx, job_key))
      if (row && !isTerminal(row.status)) this.#registry.adopt(row).job.endDamaged(true)
    } catch (error) {
      // The row itself cannot be read, so not even the end of the job can be stored.
      const feed = events.feed(job_key)
      if (feed) events.abandon(feed)
      if (!isDamagedDataError(error)) this.addStray(job_key)
    }
  }

  /** Continues a stray job, if it is stored and has not ended. @throws SERVICE_UNAVAILABLE */
  async continueJob(job_key: number): Promise<void> {
    this.#strays.delete(job_key)
    const found = this.#findStray(job_key)
    if (!found) return
    const preparing = this.#prepare(found.row, found.action)
    using _ = preparing && (await preparing)
    // Another caller may have continued the job during the preparation.
    const stray = preparing ? this.#findStray(job_key) : found
    if (!stray) return
    const job = this.#takeOver(stray.row, stray.action, true)
    this.#context.unreadableJobs.markContinued(job_key)
    if (!job.terminal) {
      this.#registry.restore([job])
      if (stray.row.status === 'pending') job.enqueue()
    }
    await job.flushed()
    this.#registry.clearWriteFailure(job_key)
    this.#registry.queue.admitRestored([job.admission])
  }

  /** A stored, unfinished job that should be running but is not held by this process; null for any other job. */
  #findStray(job_key: number): { readonly row: JobTable; readonly action: RecoveryAction } | null {
    if (this.#stopped || this.#registry.findByKey(job_key)) return null
    const row = this.#context.store.read((tx) => findJobByKey(tx, job_key))
    if (!row || isTerminal(row.status)) {
      this.#registry.clearWriteFailure(job_key)
      return null
    }
    const action = RECOVERY_ACTIONS[row.status]
    return action ? { row, action } : null
  }

  /** `continueJob`, where a job that cannot be stored now is retried later. */
  async tryContinueJob(job_key: number): Promise<void> {
    // While the database cannot be written, continuing the job would fail.
    if (this.#strays.has(job_key) && this.#context.store.fault !== null) return
    if (!this.#context.unreadableJobs.canTry(job_key)) return
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

  /** Continues strays one by one. It stops when the database cannot be written. */
  async #continueStrays(): Promise<void> {
    for (const job_key of [...this.#strays]) {
      if (this.#stopped || this.#context.store.fault !== null) return
      if (!this.#context.unreadableJobs.canTry(job_key)) continue
      try {
        await this.continueJob(job_key)
      } catch (error) {
        // The failure is logged already. The job is retried, unless its data is damaged.
        if (!isDamagedDataError(error)) this.addStray(job_key)
      }
    }
  }
}
