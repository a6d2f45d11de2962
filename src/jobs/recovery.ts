// What becomes of jobs that an earlier process left unfinished, or whose history could not be written for a while: queued ones wait again,
// in their order; running ones go on from what they remember; those that were to be cancelled are.
import type { ErrorCode } from '../../generated/errors.ts'
import { jobByKey, listedJobByKey, unrestedKeys } from '../db/jobs.ts'
import type { JobTable, StoredStatus } from '../db/schema.ts'
import { isDamage, ServiceError } from '../errors.ts'
import { NoRoom } from '../payloads/memory-account.ts'
import type { ActiveJob } from './active-job.ts'
import { CANCELLED, interrupted } from './endings.ts'
import { UnreadableNow } from './momentary.ts'
import type { Roster } from './roster.ts'
import { isTerminal } from './states.ts'
import { WriteBackoff } from './write-backoff.ts'

/** How often a job may be interrupted without having got any further: it may be what brings the process down. */
const MOST_IDLE_RECOVERIES = 20

/** Milliseconds until a job whose history could not be written is tried again. */
const STRAY_PAUSE_MS = 1_000

/** What a job is told whose history cannot be written, or whose graph takes more memory than the server has now. */
const NOT_STORED: readonly ErrorCode[] = ['SERVICE_UNAVAILABLE', 'OUTCOME_UNKNOWN', 'REQUEST_TOO_LARGE']

const RESTARTED = 'The server was interrupted and goes on with the job.'

export interface Recovered {
  running: number
  waiting: number
  ended: number
}

type Fate = 'queue' | 'run' | 'end'

/** Of jobs that rest, or have ended, there is nothing to take over. */
const FATES: Readonly<Partial<Record<StoredStatus, Fate>>> = {
  scheduled: 'queue',
  pending: 'queue',
  queued: 'queue',
  running: 'run',
  recovering: 'run',
  cancel_requested: 'end',
}

export class Recovery {
  readonly #roster: Roster
  readonly #strays = new Set<number>()
  readonly #backoff: WriteBackoff
  #timer: NodeJS.Timeout | null = null
  #stopped = false

  constructor(roster: Roster) {
    this.#roster = roster
    this.#backoff = new WriteBackoff(roster.parts.store)
  }

  /**
   * Takes over what an earlier process left. What has been running comes before what was waiting. `open` of the queue lets them run.
   * `orderly`: that process stopped by itself, so that no job is to blame for it.
   */
  async restore(orderly: boolean): Promise<Recovered> {
    const counts = { running: 0, waiting: 0, ended: 0 }
    const running: ActiveJob[] = []
    const waiting: ActiveJob[] = []
    const ended: Promise<void>[] = []
    const isWritable = this.#backoff.grant(1) > 0
    const { store } = this.#roster.parts
    // Each is read when its turn comes: all rows together may be more than memory has.
    for (const key of store.read(unrestedKeys)) {
      const row = store.read((tx) => listedJobByKey(tx, key))
      const fate = row && FATES[row.status]
      if (!fate) continue
      if (!isWritable) {
        this.lost(row.key)
        continue
      }
      const job = await this.#takenOver(row, fate, orderly)
      if (job === null) continue
      if (job.terminal) ended.push(job.flushed())
      else if (fate === 'run') running.push(job)
      else waiting.push(job)
    }
    // While others were read or compiled, the history of a job may have failed to be written: it is a stray then, and must not run.
    const isActive = (job: ActiveJob) => this.#roster.byKey(job.row.key) === job
    const [toRun, toWait] = [running.filter(isActive), waiting.filter(isActive)]
    counts.running = toRun.length
    counts.waiting = toWait.length
    counts.ended = ended.length
    this.#roster.restore([...toRun, ...toWait])
    for (const job of toWait) if (job.row.status !== 'queued') job.enqueue()
    // A job that could not be stored now, as on a full disk, is among the strays: the server starts, and it goes on later.
    await Promise.allSettled([...ended, ...toRun.map((job) => job.flushed())])
    return counts
  }

  /** Null where it cannot go on now: the other jobs do without it. It is tried again, unless what it needs is damaged. */
  async #takenOver(row: JobTable, fate: Fate, orderly: boolean): Promise<ActiveJob | null> {
    try {
      using _ = await this.#prepare(row, fate)
      return this.#takeOver(row, fate, orderly)
    } catch (err) {
      // The log knows of a file that cannot be read.
      if (err instanceof NoRoom) this.#roster.log.info({ job_id: row.id }, 'a job waits for memory')
      else if (!(err instanceof UnreadableNow))
        this.#roster.parts.log.error({ err, job_id: row.id }, 'a job of an earlier process cannot go on')
      if (!isDamage(err)) this.lost(row.key)
      return null
    }
  }

  /** Has at hand what it takes over of a job that is to run at once; of one that waits, the graph alone. */
  #prepare(row: JobTable, fate: Fate): Promise<Disposable | null> | null {
    if (fate === 'run') return this.#roster.prepare(row)
    return this.#roster.preparePlan(row)?.then(() => null) ?? null
  }

  /** A job that has ended where nothing more can be done for it, else one that is to be run. */
  #takeOver(row: JobTable, fate: Fate, orderly: boolean): ActiveJob {
    const { job, obstacle } = this.#roster.adopt(row)
    if (fate === 'end') job.end(CANCELLED)
    else if (obstacle === 'damaged') job.endDamaged(false)
    else if (obstacle === 'not_runnable')
      job.end(interrupted('The server was interrupted, and its present version cannot run the graph.'))
    else if (fate === 'run') {
      if (job.memory.idle_recoveries < MOST_IDLE_RECOVERIES) job.recover(RESTARTED, orderly)
      else job.end(interrupted(`The job was interrupted ${MOST_IDLE_RECOVERIES} times without getting any further.`))
    }
    return job
  }

  /** Remembers a job whose history could not be written, to go on with it when it can. */
  lost(job_key: number): void {
    this.#backoff.failed()
    this.#strays.add(job_key)
    this.#later()
  }

  /** Ends a job whose history cannot be written because something that is stored of it is damaged: tried again, it would only meet that again. */
  damaged(job_key: number): void {
    if (this.#stopped) return
    const { store, events } = this.#roster.parts
    try {
      const row = store.read((tx) => jobByKey(tx, job_key))
      if (row && !isTerminal(row.status)) this.#roster.adopt(row).job.endDamaged(true)
    } catch (error) {
      // Its own row cannot be read: nothing can be told of it, not even its end.
      const feed = events.feed(job_key)
      if (feed) events.abandon(feed)
      if (!isDamage(error)) this.lost(job_key)
    }
  }

  /** Goes on with a job that nobody runs, if it is stored and has not ended. @throws SERVICE_UNAVAILABLE */
  async goOn(job_key: number): Promise<void> {
    this.#strays.delete(job_key)
    const left = this.#stray(job_key)
    if (!left) return
    const preparing = this.#prepare(left.row, left.fate)
    using _ = preparing && (await preparing)
    // While much was read or compiled, somebody else may have gone on with the job.
    const stray = preparing ? this.#stray(job_key) : left
    if (!stray) return
    const job = this.#takeOver(stray.row, stray.fate, true)
    this.#roster.unreadable.goesOn(job_key)
    if (!job.terminal) {
      this.#roster.restore([job])
      if (stray.row.status === 'pending') job.enqueue()
    }
    await job.flushed()
    this.#roster.written(job_key)
    this.#roster.queue.open([job])
  }

  /** A stored job that has not ended and that nobody runs, though somebody should; null where it is none. */
  #stray(job_key: number): { readonly row: JobTable; readonly fate: Fate } | null {
    if (this.#stopped || this.#roster.byKey(job_key)) return null
    const row = this.#roster.parts.store.read((tx) => jobByKey(tx, job_key))
    if (!row || isTerminal(row.status)) {
      this.#roster.written(job_key)
      return null
    }
    const fate = FATES[row.status]
    return fate ? { row, fate } : null
  }

  /** The same, as far as it can be stored now; what cannot is tried again later. */
  async tryGoOn(job_key: number): Promise<void> {
    // While nothing can be written, each read would only fail to write.
    if (this.#strays.has(job_key) && this.#roster.parts.store.fault !== null) return
    if (!this.#roster.unreadable.mayTry(job_key)) return
    try {
      await this.goOn(job_key)
    } catch (error) {
      if (!(error instanceof ServiceError) || !NOT_STORED.includes(error.code)) throw error
      this.lost(job_key)
    }
  }

  stop(): void {
    this.#stopped = true
    if (this.#timer) clearTimeout(this.#timer)
  }

  #later(): void {
    if (this.#timer || this.#stopped) return
    this.#timer = setTimeout(() => void this.#round(), Math.max(this.#backoff.wait_ms, STRAY_PAUSE_MS))
    this.#timer.unref()
  }

  async #round(): Promise<void> {
    this.#timer = null
    if (this.#backoff.grant(1) > 0) await this.#goOnWithStrays()
    if (this.#strays.size > 0) this.#later()
  }

  /** One after the other: while the database cannot be written, the others are not touched. */
  async #goOnWithStrays(): Promise<void> {
    for (const job_key of [...this.#strays]) {
      if (this.#stopped || this.#roster.parts.store.fault !== null) return
      if (!this.#roster.unreadable.mayTry(job_key)) continue
      try {
        await this.goOn(job_key)
      } catch (error) {
        // It was lost again, which the log has said, and its turn comes again. What is damaged stays so.
        if (!isDamage(error)) this.lost(job_key)
      }
    }
  }
}
