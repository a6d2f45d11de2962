// Commands for an active job that wait to be stored. A job applies a command only after it is stored; a failed command leaves the job unchanged.
import type { JobTable } from '../../db/tables/jobs.ts'
import type { FeedMark, JobFeed } from '../../events/job-feed.ts'
import type { JournalEntry } from '../journal/entry.ts'

export interface ActiveJobCommand {
  /** The approximate number of characters that the job takes over; absent: almost none. */
  readonly weight?: number
  /** The journal entry of the command, built at the commit; null: none. For large values it is called before the commit as well. */
  journalEntry(): JournalEntry | null
  /** Changes the row and the history, within the commit. */
  stage?(): void
  /** Called when the command is stored: the job applies it. */
  apply(): void
  /** Called when the command could not be stored. The row and the history are restored already. */
  rollBack?(): void
}

/** The commands of one commit have about this many characters together, since the job applies all of them in one turn of the event loop. */
const MOST_TAKEN = 500_000

interface PendingCommand {
  readonly command: ActiveJobCommand
  resolve(): void
  reject(error: unknown): void
}

/** The commands in the commit under way, and the state to restore where it fails. */
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

  get pendingCount(): number {
    return this.#pending.length
  }

  /** Whether a transaction has written commands, and its commit is still undecided. */
  get isDeciding(): boolean {
    return this.#attempt !== null
  }

  /** Resolves when the command is stored and applied. */
  add(command: ActiveJobCommand): Promise<void> {
    const { promise, ...settle } = Promise.withResolvers<void>()
    this.#pending.push({ command, ...settle })
    // Some callers do not wait for the promise.
    promise.catch(() => {})
    return promise
  }

  /** How many of the first commands one commit should store. It is all where a command changes row and history: later commands may find the job ended. */
  get dueCount(): number {
    if (this.journalOnlyCount < this.#pending.length) return this.#pending.length
    let taken = 0
    const beyond = this.#pending.findIndex(({ command: { weight = 0 } }, at) => {
      taken += weight
      return at > 0 && taken > MOST_TAKEN
    })
    return beyond < 0 ? this.#pending.length : beyond
  }

  /** The journal entries of the first `count` commands, as far as they are known now. */
  journalEntries(count: number): JournalEntry[] {
    const first = this.#pending.slice(0, count)
    return first.map(({ command }) => command.journalEntry()).filter((entry) => entry !== null)
  }

  /** How many of the first commands change only the journal. */
  get journalOnlyCount(): number {
    const other = this.#pending.findIndex(({ command }) => command.stage !== undefined)
    return other < 0 ? this.#pending.length : other
  }

  /** Stages the first `count` commands, and returns their journal entries. A transaction may run again, but commands are staged once. */
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

  /** Applies the committed commands in their order. */
  apply(): void {
    for (const { command, resolve } of this.#removeAttempted()) {
      command.apply()
      resolve()
    }
  }

  /** Restores the row and the history after a failed commit. It returns the entries that were not stored; null: no commands were staged. */
  rollBack(error: unknown): readonly JournalEntry[] | null {
    const attempt = this.#attempt
    if (!attempt) return null
    Object.assign(this.#row, attempt.row)
    this.#feed.truncate(attempt.mark)
    this.#reject(this.#removeAttempted(), error)
    return attempt.entries
  }

  /** Rejects all pending commands, where none is staged or the job itself leaves the process. */
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
