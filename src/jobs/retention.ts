// Removes what is past its retention: first the events of a job, then the job, then its tombstone. It works in small batches between pauses, so
// that requests are not delayed. The repositories in src/db remove the rows.
import { setTimeout as sleep } from 'node:timers/promises'
import { deleteOrphanedGraphParts } from '../db/graphs.ts'
import { deleteJobEvents, expireJob, purgeRemovedJobs } from '../db/jobs/removal.ts'
import { deleteOldIdempotencyKeys, listExpiredJobs, listFinishedJobs, saveSweepPosition } from '../db/jobs/retention.ts'
import { deleteOldTombstones } from '../db/jobs/tombstones.ts'
import { startTimeBudget, type TimeBudget } from '../db/row-batches.ts'
import type { Store, Tx } from '../db/store.ts'
import { purgeDeletedThreads } from '../db/threads.ts'
import { purgeDeletedWorkflows } from '../db/workflows.ts'
import type { Log } from '../log.ts'
import type { Platform } from '../platform.ts'
import { IDEMPOTENCY_RETENTION_SECONDS } from './submission/earlier-submissions.ts'

export interface RetentionSweeperParts {
  readonly store: Store
  readonly platform: Platform
  readonly log: Log
  /** Keys of jobs that are about to be stored: the sweeps must not remove their prewritten pages. */
  readonly early_keys: ReadonlySet<number>
  /** How many days a job is kept after its end. */
  readonly job_days: number
  /** Each sweep removes some unused files of one kind. Where a sweep fails, the others still run. */
  readonly fileSweeps: readonly (() => Promise<unknown>)[]
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Events are kept for this many days after the end of their job. */
const EVENT_DAYS = 7
const TOMBSTONE_DAYS = 90

/** One batch may keep the database busy for this many milliseconds. The pause after a batch is at least three times as long as the batch took. */
const BATCH_MS = 3
const PAUSE_FACTOR = 3
/** A batch selects at most this many rows. */
const BATCH_ROWS = 200
const INTERVAL_MS = 60_000
/** Free pages that one step gives back to the file system. A larger step would make its commit longer, which delays every request. */
const LEAST_PAGES = 8
const MOST_PAGES = 64
const STEP_PAUSE_MS = 10

/** Runs one batch, and returns true when no rows are left to remove. */
type Sweep = (tx: Tx, more: TimeBudget) => boolean

export class RetentionSweeper implements AsyncDisposable {
  readonly #parts: RetentionSweeperParts
  readonly #stopController = new AbortController()
  #currentSweep: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null

  constructor(parts: RetentionSweeperParts) {
    this.#parts = parts
  }

  /** Starts the timer that sweeps every `INTERVAL_MS`. */
  start(): void {
    this.#timer = setInterval(() => void this.sweep(), INTERVAL_MS)
    this.#timer.unref()
  }

  /** Removes everything that is past its retention, and resolves when nothing is left. Callers share a sweep that is under way. */
  sweep(): Promise<void> {
    this.#currentSweep ??= this.#sweepAll().finally(() => {
      this.#currentSweep = null
    })
    return this.#currentSweep
  }

  async #sweepAll(): Promise<void> {
    for (const sweep of this.#listSweeps())
      await this.#runLogged('rows past their retention could not be removed', async () => {
        while (!(await this.#batch(sweep)));
      })
    await this.#runLogged('free pages of the database could not be given back', () => this.#releaseFreePages())
    for (const sweep of this.#parts.fileSweeps)
      if (!this.#stopController.signal.aborted) await this.#runLogged('unused files could not be removed', sweep)
  }

  /** Logs a failed sweep. The next round tries again; until then the rows only take space. */
  async #runLogged(failureMessage: string, sweep: () => Promise<unknown>): Promise<void> {
    try {
      await sweep()
    } catch (error) {
      if (!this.#stopController.signal.aborted) this.#parts.log.error({ err: error }, failureMessage)
    }
  }

  async #batch(sweep: Sweep): Promise<boolean> {
    this.#stopController.signal.throwIfAborted()
    let took = 0
    const done = await this.#parts.store.write((tx) => {
      const began = performance.now()
      const finished = sweep(tx, startTimeBudget(BATCH_MS))
      took = performance.now() - began
      return finished
    })
    await sleep(Math.max(1, took * PAUSE_FACTOR), null, { signal: this.#stopController.signal, ref: false })
    return done
  }

  /** Gives the space of removed rows back to the file system, in steps that are as short as batches. */
  async #releaseFreePages(): Promise<void> {
    const { signal } = this.#stopController
    for (let pages = LEAST_PAGES; ; ) {
      signal.throwIfAborted()
      const took = await this.#parts.store.releaseFreePages(pages)
      if (took === null) return
      pages = took > BATCH_MS ? Math.max(LEAST_PAGES, pages >> 1) : Math.min(MOST_PAGES, pages << 1)
      await sleep(Math.max(STEP_PAUSE_MS, took * PAUSE_FACTOR), null, { signal, ref: false })
    }
  }

  #listSweeps(): Sweep[] {
    const { store, platform, job_days, early_keys } = this.#parts
    const now = platform.now()
    const daysAgo = (days: number) => new Date(now - days * DAY_MS).toISOString()
    const present = new Date(now).toISOString()
    const keysBefore = new Date(now - IDEMPOTENCY_RETENTION_SECONDS * 1_000).toISOString()
    const purgeRemoved: Sweep = (tx, more) => purgeRemovedJobs(tx, more, early_keys)
    return [
      purgeRemoved,
      (tx, more) => sweepEvents(tx, daysAgo(EVENT_DAYS), more),
      (tx, more) => sweepJobs(tx, daysAgo(job_days), present, more),
      // This second pass removes what was too much for the batches of `sweepJobs`.
      purgeRemoved,
      purgeDeletedWorkflows,
      purgeDeletedThreads,
      // While the database has damaged rows, an orphaned part may belong to one of them.
      (tx, more) => store.hasDamagedRows || deleteOrphanedGraphParts(tx, more),
      (tx) => deleteOldIdempotencyKeys(tx, keysBefore, BATCH_ROWS) < BATCH_ROWS,
      (tx) => deleteOldTombstones(tx, daysAgo(TOMBSTONE_DAYS), BATCH_ROWS) < BATCH_ROWS,
    ]
  }

  /** Waits for the batch that is under way, and starts no other. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopController.abort()
    if (this.#timer) clearInterval(this.#timer)
    await this.#currentSweep
  }
}

const EVENTS_SWEEP = 'events'

/** Visits each finished job once, in the order of their ends. Jobs behind the stored position have no events any more. */
function sweepEvents(tx: Tx, before: string, more: TimeBudget): boolean {
  const jobs = listFinishedJobs(tx, EVENTS_SWEEP, before, BATCH_ROWS)
  for (const [at, job] of jobs.entries()) {
    const emptied = deleteJobEvents(tx, job.key, more)
    const last = emptied ? job : jobs[at - 1]
    if (emptied && at < jobs.length - 1 && more()) continue
    if (last) saveSweepPosition(tx, EVENTS_SWEEP, last)
    return false
  }
  return true
}

function sweepJobs(tx: Tx, before: string, present: string, more: TimeBudget): boolean {
  const jobs = listExpiredJobs(tx, before, BATCH_ROWS)
  for (const job of jobs) {
    expireJob(tx, job, present, more)
    if (!more()) return false
  }
  return jobs.length === 0
}
