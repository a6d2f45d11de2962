// Jobs that wait because a file cannot be read now, for example after a `chmod`. They lose nothing, are retried after growing pauses, and continue once the
// file can be read. Each job is logged once, and the jobs that still wait are logged now and then.
import { closeSync, openSync } from 'node:fs'
import type { JobTable } from '../../db/tables/jobs.ts'
import type { Log } from '../../log.ts'
import type { TransientFileError } from './transient-faults.ts'

const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000
/** The interval for logging that jobs still wait. */
const LOG_AGAIN_MS = 600_000
/** At most this many jobs are logged by id. */
const MAX_LOGGED_JOBS = 100
/** A job that is not retried so long after its pause is no longer wanted. */
const LATE_MS = 5_000

const ADVICE = 'check its owner and mode, and the disk: the job waits, and goes on by itself once the file can be read'

interface UnreadableJob {
  readonly id: string
  readonly pause_ms: number
  /** The time from which the job may be retried, by the monotonic clock. */
  readonly until: number
  /** The path of the file, where the error has it. */
  readonly path: string | null
  /** False once the job was taken over again. */
  readonly isWaiting: boolean
}

export class UnreadableJobs {
  readonly #log: Log
  readonly #now: () => number
  readonly #jobs = new Map<number, UnreadableJob>()
  #logged_at = 0

  /** `now`: milliseconds of a monotonic clock. */
  constructor(log: Log, now: () => number = () => performance.now()) {
    this.#log = log
    this.#now = now
  }

  /** Records that a file of a job could not be read. */
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

  /** Whether a job may be retried: not during its pause, nor while its file still cannot be opened. */
  canTry(job_key: number): boolean {
    const job = this.#jobs.get(job_key)
    if (!job?.isWaiting) return true
    if (this.#now() < job.until) return false
    if (job.path === null || isReadable(job.path)) return true
    this.#extendPause(job_key, job)
    return false
  }

  /** Milliseconds until a job may be retried. */
  pauseOf(job_key: number): number {
    const job = this.#jobs.get(job_key)
    return job?.isWaiting ? Math.max(job.until - this.#now(), 0) : 0
  }

  /** Records that a job was taken over. Another of its files may still fail. */
  markContinued(job_key: number): void {
    const job = this.#jobs.get(job_key)
    if (job) this.#jobs.set(job_key, { ...job, isWaiting: false })
  }

  /** Removes a job that has ended or was suspended (`isStored`), or that this process leaves to the next process. */
  remove(job_key: number, isStored: boolean): void {
    const job = this.#jobs.get(job_key)
    if (!job) return
    this.#jobs.delete(job_key)
    if (isStored) this.#log.info({ job_id: job.id }, 'a job whose file could not be read for a while has continued')
  }

  /** Whether any job waits because its file cannot be read. */
  get hasWaiting(): boolean {
    for (const { isWaiting, until } of this.#jobs.values()) if (isWaiting && this.#now() < until + LATE_MS) return true
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
