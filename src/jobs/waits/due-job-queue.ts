// A queue of due suspended jobs, by user. Users take turns. A job that was read is not read again before `rewind`, so that jobs that cannot be resumed do
// not block the reading of others.
import { type DueJob, listDueJobs } from '../../db/jobs/rows.ts'
import type { Tx } from '../../db/store.ts'

/** Jobs per query, which takes about 1 ms. */
const PAGE = 500

export class DueJobQueue {
  /** Keys of jobs by user; the next user first. No list is empty. */
  readonly #jobsByUser = new Map<string, number[]>()
  /** Keys of jobs by paused user. */
  readonly #jobsOfPausedUsers = new Map<string, number[]>()
  /** The position up to which all due jobs were read. */
  #position = { wake_at: 0, key: 0 }
  #isFullyRead = true
  #read_ms = 0

  /** Whether a job can be taken, or more jobs can be read. */
  get hasMore(): boolean {
    return this.#jobsByUser.size > 0 || !this.#isFullyRead
  }

  /** The wake time up to which all due jobs were read, in milliseconds since the epoch. */
  get read_until(): number {
    return this.#position.wake_at
  }

  /** Milliseconds of reading since the last `rewind`. */
  get read_ms(): number {
    return this.#read_ms
  }

  /** Empties the queue, so that all due jobs are read again. */
  rewind(): void {
    this.#jobsByUser.clear()
    for (const keys of this.#jobsOfPausedUsers.values()) keys.length = 0
    this.#position = { wake_at: 0, key: 0 }
    this.#isFullyRead = false
    this.#read_ms = 0
  }

  /** Reads further jobs that are due at `until` (milliseconds since the epoch): at least one page, and more while there is time. */
  read(tx: Tx, until: number, hasTime: () => boolean): void {
    const began = performance.now()
    do {
      const jobs = listDueJobs(tx, until, this.#position, PAGE)
      for (const job of jobs) this.#add(job)
      this.#isFullyRead = jobs.length < PAGE
      this.#position = this.#isFullyRead
        ? { wake_at: Math.max(until, this.read_until), key: Number.MAX_SAFE_INTEGER }
        : jobs.at(-1)!
    } while (!this.#isFullyRead && hasTime())
    this.#read_ms += performance.now() - began
  }

  /** Adds a job that was just stored, where the reading has passed its wake time. */
  addStored(job: DueJob): void {
    if (job.wake_at <= this.read_until) this.#add(job)
  }

  #add({ user_id, key }: DueJob): void {
    const keys = this.#jobsOfPausedUsers.get(user_id) ?? this.#jobsByUser.get(user_id)
    if (keys) keys.push(key)
    else this.#jobsByUser.set(user_id, [key])
  }

  /** Takes the first job of the next user, whose turn then comes after all others; null where there is none. */
  take(): Pick<DueJob, 'user_id' | 'key'> | null {
    for (const [user_id, keys] of this.#jobsByUser) {
      const key = keys.shift()!
      this.#jobsByUser.delete(user_id)
      if (keys.length > 0) this.#jobsByUser.set(user_id, keys)
      return { user_id, key }
    }
    return null
  }

  /** Puts a taken job back as the first of its user. */
  putBack({ user_id, key }: Pick<DueJob, 'user_id' | 'key'>): void {
    const keys = this.#jobsOfPausedUsers.get(user_id) ?? this.#jobsByUser.get(user_id)
    if (keys) keys.unshift(key)
    else this.#jobsByUser.set(user_id, [key])
  }

  /** Takes no jobs of a user until `resumeUser`. */
  pauseUser(user_id: string): void {
    if (this.#jobsOfPausedUsers.has(user_id)) return
    this.#jobsOfPausedUsers.set(user_id, this.#jobsByUser.get(user_id) ?? [])
    this.#jobsByUser.delete(user_id)
  }

  resumeUser(user_id: string): void {
    const keys = this.#jobsOfPausedUsers.get(user_id)
    this.#jobsOfPausedUsers.delete(user_id)
    if (keys && keys.length > 0) this.#jobsByUser.set(user_id, keys)
  }
}
