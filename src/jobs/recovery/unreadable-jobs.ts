// Jobs of which a file cannot be read now, as after a `chmod`. They wait, and nothing of them is lost: they are tried again after pauses that grow, and go
// on by themselves once the file can be read. The log hears of each job once, and seldom of all that still wait.
import { closeSync, openSync } from 'node:fs'
import type { JobTable } from '../../db/schema.ts'
import type { Log } from '../../log.ts'
import type { TransientFileError } from './transient-faults.ts'

const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000
/** How often the log hears that jobs still wait. */
const LOG_AGAIN_MS = 600_000
/** Of so many jobs the log is told by name. */
const MAX_LOGGED_JOBS = 100
/** A job that is not tried again so long after its pause is one that nobody wants to go on. */
const LATE_MS = 5_000

const ADVICE = 'check its owner and mode, and the disk: the job waits, and goes on by itself once the file can be read'

interface UnreadableJob {
  readonly id: string
  readonly pause_ms: number
  /** When it may be tried again, by the monotonic clock. */
  readonly until: number
  /** The file, where the fault names it. */
  readonly path: string | null
  /** False while it goes on. */
  readonly isWaiting: boolean
}

export class UnreadableJobs {
  readonly #log: Log
  readonly #now: () => number
  readonly #jobs = new Map<number, UnreadableJob>()
  #logged_at = 0

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(log: Log, now: () => number = () => performance.now()) {
    this.#log = log
    this.#now = now
  }

  /** A job cannot go on now. */
  failed({ key, id }: Pick<JobTable, 'key' | 'id'>, { cause }: TransientFileError): void {
    const known = this.#jobs.get(key)
    if (known) this.#extendPause(key, { ...known, path: pathOf(cause) })
    else {
      if (this.#jobs.size === 0) this.#logged_at = this.#now()
      this.#put(key, { id, pause_ms: FIRST_PAUSE_MS, path: pathOf(cause) })
      if (this.#jobs.size <= MAX_LOGGED_JOBS)
        this.#log.error({ err: cause, job_id: id }, `a file of a job cannot be read now; ${ADVICE}`)
    }
  }

  /** Whether a job that is to go on may be tried: not during its pause, nor while its file still cannot be opened. */
  canTry(job_key: number): boolean {
    const job = this.#jobs.get(job_key)
    if (!job?.isWaiting) return true
    if (this.#now() < job.until) return false
    if (job.path === null || isReadable(job.path)) return true
    this.#extendPause(job_key, job)
    return false
  }

  /** How long it is until a job may be tried, in milliseconds. */
  pauseOf(job_key: number): number {
    const job = this.#jobs.get(job_key)
    return job?.isWaiting ? Math.max(job.until - this.#now(), 0) : 0
  }

  /** A job was taken over: another file of it may still fail. */
  markContinued(job_key: number): void {
    const job = this.#jobs.get(job_key)
    if (job) this.#jobs.set(job_key, { ...job, isWaiting: false })
  }

  /** A job has ended or waits for something outside (`isStored`), or this process leaves it to the next one. */
  remove(job_key: number, isStored: boolean): void {
    const job = this.#jobs.get(job_key)
    if (!job) return
    this.#jobs.delete(job_key)
    if (isStored) this.#log.info({ job_id: job.id }, 'a job whose file could not be read for a while has gone on')
  }

  /** Whether any job waits because a file of it cannot be read. */
  get hasWaiting(): boolean {
    for (const { isWaiting: waits, until } of this.#jobs.values())
      if (waits && this.#now() < until + LATE_MS) return true
    return false
  }

  #extendPause(key: number, { id, pause_ms, path }: UnreadableJob): void {
    this.#put(key, { id, pause_ms: Math.min(pause_ms * 2, LONGEST_PAUSE_MS), path })
    if (this.#now() - this.#logged_at < LOG_AGAIN_MS) return
    this.#logged_at = this.#now()
    this.#log.error({ job_id: id, path, jobs: this.#jobs.size }, `files of jobs still cannot be read; ${ADVICE}`)
  }

  #put(key: number, job: Pick<UnreadableJob, 'id' | 'pause_ms' | 'path'>): void {
    this.#jobs.set(key, { ...job, until: this.#now() + job.pause_ms, isWaiting: true })
  }
}

function pathOf(cause: unknown): string | null {
  return (cause as NodeJS.ErrnoException | undefined)?.path ?? null
}

function isReadable(path: string): boolean {
  try {
    closeSync(openSync(path, 'r'))
    return true
  } catch {
    return false
  }
}
