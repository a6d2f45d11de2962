// Commands for a living job, on their way to the disk. A command is stored before the job takes it; one that cannot be stored has not touched it.
import type { JobTable } from '../../db/schema.ts'
import type { FeedMark, JobFeed } from '../../events/job-feed.ts'
import type { JournalEntry } from '../journal/entry.ts'

export interface ActiveJobCommand {
  /** About how many characters the job takes with it; absent: hardly any. */
  readonly weight?: number
  /** What the journal is to keep of it, as of the moment of the commit; null: nothing. A large value is asked for before as well. */
  journalEntry(): JournalEntry | null
  /** Changes row and history, in the commit. */
  stage?(): void
  /** It is stored: the job takes it. */
  apply(): void
  /** It could not be stored: row and history are as they were before. */
  rollBack?(): void
}

/** One commit has commands of about so many characters together: the job takes all of them in one turn of the event loop. */
const MOST_TAKEN = 500_000

interface PendingCommand {
  readonly command: ActiveJobCommand
  resolve(): void
  reject(error: unknown): void
}

/** What a commit writes of commands, besides what the job has done by itself. */
interface CommitAttempt {
  readonly row: JobTable
  readonly mark: FeedMark
  readonly entries: readonly JournalEntry[]
  readonly count: number
}

export class JobCommandQueue {
  readonly #row: JobTable
  readonly #feed: JobFeed
  #pending: PendingCommand[] = []
  #attempt: CommitAttempt | null = null

  constructor(row: JobTable, feed: JobFeed) {
    this.#row = row
    this.#feed = feed
  }

  /** How many wait. */
  get pendingCount(): number {
    return this.#pending.length
  }

  /** Whether a transaction has written some, and it is not known yet whether it was committed. */
  get isDeciding(): boolean {
    return this.#attempt !== null
  }

  /** Resolves when the command is stored and taken. */
  add(command: ActiveJobCommand): Promise<void> {
    const { promise, ...settle } = Promise.withResolvers<void>()
    this.#pending.push({ command, ...settle })
    // Not everybody waits for it.
    promise.catch(() => {})
    return promise
  }

  /** How many of them, from the first on, one commit should store. All, where one changes row and history: what comes after that may find the job ended. */
  get dueCount(): number {
    if (this.journalOnlyCount < this.#pending.length) return this.#pending.length
    let taken = 0
    const beyond = this.#pending.findIndex(({ command: { weight = 0 } }, at) => {
      taken += weight
      return at > 0 && taken > MOST_TAKEN
    })
    return beyond < 0 ? this.#pending.length : beyond
  }

  /** What the first `count` give to the journal, as far as that is known now. */
  journalEntries(count: number): JournalEntry[] {
    const first = this.#pending.slice(0, count)
    return first.map(({ command }) => command.journalEntry()).filter((entry) => entry !== null)
  }

  /** How many of them, from the first on, change nothing but the journal. */
  get journalOnlyCount(): number {
    const other = this.#pending.findIndex(({ command }) => command.stage !== undefined)
    return other < 0 ? this.#pending.length : other
  }

  /** Stages the first `count`, and gives what the journal keeps of them. The transaction may run again: they are staged once. */
  stage(count: number): readonly JournalEntry[] {
    if (this.#attempt) return this.#attempt.entries
    if (count === 0) return []
    const entries: JournalEntry[] = []
    this.#attempt = { row: { ...this.#row }, mark: this.#feed.mark, entries, count }
    for (const { command } of this.#pending.slice(0, count)) {
      command.stage?.()
      const entry = command.journalEntry()
      if (entry) entries.push(entry)
    }
    return entries
  }

  /** They are committed: the job takes them, in their order. */
  apply(): void {
    for (const { command, resolve } of this.#removeAttempted()) {
      command.apply()
      resolve()
    }
  }

  /** They are not: row and history are as they were. Gives what is not kept of them; null: none were staged. */
  rollBack(error: unknown): readonly JournalEntry[] | null {
    const attempt = this.#attempt
    if (!attempt) return null
    Object.assign(this.#row, attempt.row)
    this.#feed.truncate(attempt.mark)
    this.#reject(this.#removeAttempted(), error)
    return attempt.entries
  }

  /** Refuses all that wait: none of them is staged, or the job itself is given up. */
  rejectAll(error: unknown): void {
    this.#attempt = null
    this.#reject(this.#pending.splice(0), error)
  }

  #removeAttempted(): PendingCommand[] {
    const count = this.#attempt?.count ?? 0
    this.#attempt = null
    return this.#pending.splice(0, count)
  }

  #reject(pending: readonly PendingCommand[], error: unknown): void {
    for (const { command, reject } of pending.toReversed()) {
      command.rollBack?.()
      reject(error)
    }
  }
}
