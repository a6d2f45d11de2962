// Suspended jobs whose time has come, by user, as far as they were read. Users take turns. What was read once is not read again before `rewind`, so that
// jobs that cannot go on keep no others from being read.
import { type DueJob, listDueJobs } from '../../db/jobs/rows.ts'
import type { Tx } from '../../db/store.ts'

/** Jobs that are read at once: about 1 ms. */
const PAGE = 500

export class DueJobQueue {
  /** Keys of jobs by user; the next user first. No line is empty. */
  readonly #jobsByUser = new Map<string, number[]>()
  /** The same of users who have to wait. */
  readonly #jobsOfPausedUsers = new Map<string, number[]>()
  /** Up to here all due jobs were read. */
  #position = { wake_at: 0, key: 0 }
  #isFullyRead = true
  #read_ms = 0

  /** Whether a job can be taken, or there is more to be read. */
  get hasMore(): boolean {
    return this.#jobsByUser.size > 0 || !this.#isFullyRead
  }

  /** Up to when all due jobs were read, in milliseconds since the epoch. */
  get read_until(): number {
    return this.#position.wake_at
  }

  /** How long it took to read what was read since the last `rewind`, in milliseconds. */
  get read_ms(): number {
    return this.#read_ms
  }

  /** Reads all again. */
  rewind(): void {
    this.#jobsByUser.clear()
    for (const line of this.#jobsOfPausedUsers.values()) line.length = 0
    this.#position = { wake_at: 0, key: 0 }
    this.#isFullyRead = false
    this.#read_ms = 0
  }

  /** Reads on, up to jobs that are due at `until` (milliseconds since the epoch), at least some and as long as there is time. */
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

  /** Takes a job in that is stored now, where it would not be read any more. */
  addStored(job: DueJob): void {
    if (job.wake_at <= this.read_until) this.#add(job)
  }

  #add({ user_id, key }: DueJob): void {
    const line = this.#jobsOfPausedUsers.get(user_id) ?? this.#jobsByUser.get(user_id)
    if (line) line.push(key)
    else this.#jobsByUser.set(user_id, [key])
  }

  /** Takes the first job of the next user, who then comes behind all others; null where there is none. */
  take(): Pick<DueJob, 'user_id' | 'key'> | null {
    for (const [user_id, line] of this.#jobsByUser) {
      const key = line.shift()!
      this.#jobsByUser.delete(user_id)
      if (line.length > 0) this.#jobsByUser.set(user_id, line)
      return { user_id, key }
    }
    return null
  }

  /** Has a job that was taken as the next one of its user. */
  putBack({ user_id, key }: Pick<DueJob, 'user_id' | 'key'>): void {
    const line = this.#jobsOfPausedUsers.get(user_id) ?? this.#jobsByUser.get(user_id)
    if (line) line.unshift(key)
    else this.#jobsByUser.set(user_id, [key])
  }

  /** Until `letBack` no job of the user is taken. */
  pauseUser(user_id: string): void {
    if (this.#jobsOfPausedUsers.has(user_id)) return
    this.#jobsOfPausedUsers.set(user_id, this.#jobsByUser.get(user_id) ?? [])
    this.#jobsByUser.delete(user_id)
  }

  resumeUser(user_id: string): void {
    const line = this.#jobsOfPausedUsers.get(user_id)
    this.#jobsOfPausedUsers.delete(user_id)
    if (line && line.length > 0) this.#jobsByUser.set(user_id, line)
  }
}
