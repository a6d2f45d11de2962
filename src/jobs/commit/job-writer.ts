// Writes one active job: its row, events, journal and further rows. All changes of one turn of the event loop share a transaction. Large values go to
// files first, between two turns: the changes before that are committed after it, later changes with the next commit.
import type { Tx } from '../../db/store.ts'
import type { JobTable } from '../../db/tables/jobs.ts'
import { isDamagedDataError, type ServiceError } from '../../errors.ts'
import type { FeedMark, JobFeed } from '../../events/job-feed.ts'
import type { EventLog } from '../../events/log.ts'
import type { EventBody, EventFrame, JobFrame } from '../../events/types.ts'
import type { CompiledWorkflowGraph } from '../../workflows/plan-cache.ts'
import type { JobTimestamps } from '../history/job-timestamps.ts'
import type { JournalEntry } from '../journal/entry.ts'
import type { JobJournal } from '../journal/job-journal.ts'
import { toServiceUnavailable } from '../recovery/transient-faults.ts'
import { isTerminal } from '../state-machine.ts'
import { createOutcomeUnknownError } from '../submission/outcome-unknown-error.ts'
import { type ActiveJobCommand, JobCommandQueue } from './command-queue.ts'
import { type AdditionalWrite, type CommitRange, writeRange } from './commit-range.ts'
import { CommitWaiters, FlushWaiters } from './waiters.ts'

export interface JobWriterParts {
  events: EventLog
  row: JobTable
  /** The graph to store with the row; the writer then drops it. Null: both are stored already. */
  unstored: CompiledWorkflowGraph | null
  /** Whether the submitter will follow the job from the start. */
  hasFollower: boolean
  timestamps: JobTimestamps
  journal: () => JournalSource
  /** Called after each commit. */
  onCommitted(): void
  /** Called when the last commands could not be stored, and their changes were rolled back. */
  onCommandsRefused(): void
  /** Called when `isDeciding` has become false. */
  onCommandsDecided(): void
  /** Called when the job cannot be written: its uncommitted changes are lost. */
  onWriteFailed(cause: unknown): void
}

interface JournalSource {
  /** The journal where it is loaded. While it is not, no entries are staged. */
  readonly loaded: JobJournal | null
  /** The journal for new entries, loaded if need be. */
  readonly writable: JobJournal
}

/** At most this many events, entries and further rows wait for a commit while the run continues: writing them takes some 10 ms. */
const MOST_STAGED = 1_000
/** At most this many characters of events wait, apart from the last event: writing a million takes 8 to 12 ms. */
const MOST_STAGED_LENGTH = 1_000_000

export class JobWriter {
  readonly feed: JobFeed
  readonly #parts: JobWriterParts
  readonly #waiters: CommitWaiters
  readonly #commands: JobCommandQueue
  /** The number of frames that a follower from the start would have received. */
  message_count = 0
  #isCommitting = false
  /** Set once the writer takes no more changes: the history could not be written, or another process continues the job. */
  #closeError: ServiceError | null = null
  #additionalWrites: AdditionalWrite[] = []
  readonly #flushWaiters = new FlushWaiters()
  /** How many additional writes and flush waiters the commit under way covers. */
  #coveredCounts = { extras: 0, waiters: 0 }
  /** Set while large values are written to files, before their commit. */
  #spillController: AbortController | null = null

  constructor(parts: JobWriterParts) {
    this.#parts = parts
    this.feed = parts.events.open(parts.row.key, parts.row.last_sequence, parts.hasFollower)
    this.#waiters = new CommitWaiters(this.feed)
    this.#commands = new JobCommandQueue(parts.row, this.feed)
  }

  get isClosed(): boolean {
    return this.#closeError !== null
  }

  get #isStored(): boolean {
    return this.#parts.unstored === null
  }

  /** Whether all events are committed. */
  get isClean(): boolean {
    return !this.#isCommitting && this.feed.sequence === this.feed.committed
  }

  /** Whether no write is under way or waiting, commands included. */
  get isIdle(): boolean {
    return !this.#isCommitting && this.#spillController === null && this.#hasNothing
  }

  /** Stages a durable event. @throws what serializing it throws; nothing is staged then */
  append(event: EventBody, frame: EventFrame | null): void {
    const { row, timestamps } = this.#parts
    if (!this.#closeError) {
      this.feed.append(event, frame, timestamps.next())
      // The journal of a completed job is not needed any more.
      if (row.status === 'completed') this.#spillController?.abort()
      this.#commitSoon()
    }
    // So the next process gives no earlier timestamp. The row of a job that has ended was built before.
    if (!isTerminal(row.status)) row.updated_at = timestamps.last
    if (frame) this.message_count++
  }

  /** Sends a frame to the current followers only. */
  provisional(frame: () => JobFrame): void {
    this.message_count++
    if (!this.#closeError && this.feed.hasFollowers) this.feed.provisional(frame(), this.#parts.timestamps.next())
  }

  recordEntry(entry: JournalEntry): void {
    if (this.#closeError) return
    try {
      this.#parts.journal().writable.stage(entry)
    } catch (error) {
      this.fail(error)
    }
    this.#commitSoon()
  }

  /** Writes a further row with the next commit. */
  write(extra: AdditionalWrite): void {
    if (this.#closeError) return
    this.#additionalWrites.push(extra)
    this.#commitSoon()
  }

  /**
   * Stores a command, then applies it to the job. Where it cannot be stored, the job's own changes are written without it.
   * @throws SERVICE_UNAVAILABLE, DATA_DAMAGED, or OUTCOME_UNKNOWN where the command cannot be stored
   */
  command(command: ActiveJobCommand): Promise<void> {
    if (this.#closeError) return Promise.reject(this.#closeError)
    const stored = this.#commands.add(command)
    this.#commitSoon()
    return stored
  }

  /** Whether a transaction has written a command, and its commit is still undecided: the job must not change meanwhile. */
  get isDeciding(): boolean {
    return this.#commands.isDeciding
  }

  /** Resolves when all changes staged until now are committed. @throws SERVICE_UNAVAILABLE where they cannot be written */
  whenWritten(): Promise<void> {
    if (this.#closeError) return Promise.reject(this.#closeError)
    if (this.isClean) return Promise.resolve()
    this.#commitSoon()
    return this.#flushWaiters.add()
  }

  /** Resolves when all journal entries until now are committed; null: they are already. @throws SERVICE_UNAVAILABLE where they cannot be written */
  whenJournalWritten(): Promise<void> | null {
    return this.#closeError || this.#stagedEntries > 0 ? this.whenWritten() : null
  }

  /** Null: the run may continue. Otherwise so many changes are staged that the run waits until they are committed, or fail. */
  backlog(): Promise<void> | null {
    const { sequence, committed, staged_length } = this.feed
    const staged = sequence - committed + this.#stagedEntries + this.#additionalWrites.length
    const isLittle = staged < MOST_STAGED && staged_length < MOST_STAGED_LENGTH
    return this.#closeError || isLittle ? null : this.whenWritten()
  }

  get #stagedEntries(): number {
    return this.#parts.journal().loaded?.stagedCount ?? 0
  }

  /** Resolves when the first event is committed, so that the job survives a crash. */
  whenAccepted(): Promise<void> {
    return this.#waiters.waitFor(1)
  }

  /** Resolves when the terminal event is committed, or the job is suspended. */
  whenSettled(): Promise<void> {
    return this.#waiters.waitFor(null)
  }

  /** Called when the job is suspended: another writer continues it later. */
  suspend(): void {
    this.#parts.events.release(this.feed)
    this.#waiters.resolveAll()
  }

  /**
   * Takes no more changes, and rejects all waiters. Uncommitted changes are not stored. Callers that wait for the job get an error with its id, where
   * the job is stored or may be.
   */
  close(error: ServiceError): void {
    if (this.#closeError) return
    this.#closeError = error
    this.#spillController?.abort()
    const isStored = this.#isStored || error.code === 'OUTCOME_UNKNOWN'
    this.#waiters.rejectAll(isStored ? createOutcomeUnknownError(this.#parts.row.id, error.cause) : error)
    this.#flushWaiters.rejectAll(error)
    this.#commands.rejectAll(error)
  }

  #commitSoon(): void {
    if (this.#isCommitting || this.#closeError) return
    this.#isCommitting = true
    this.#commit(null)
  }

  /** Commits all changes staged by then, or the `fixed` range from before large values were written to files. */
  #commit(fixed: CommitRange | null): void {
    this.#parts.events.commit(
      this.feed,
      (tx) => this.#writeAll(tx, fixed),
      (error) => this.#onCommitted(error),
    )
  }

  #rangeOfAll(commands: number): CommitRange {
    const { row } = this.#parts
    const { mark } = this.feed
    row.last_sequence = mark.sequence
    const entries = this.#stagedEntries
    // A waiter for all changes also waits for the commands that this commit leaves out.
    const waiters = this.#dueCommands < this.#commands.pendingCount ? 0 : this.#flushWaiters.count
    return { row, mark, entries, extras: this.#additionalWrites.length, waiters, commands }
  }

  #writeAll(tx: Tx, fixed: CommitRange | null): FeedMark | null {
    // The waiters were told already that these changes are not stored.
    if (this.#closeError) return null
    if (!fixed && this.#parts.row.status !== 'completed' && this.#spill()) return null
    const commands = fixed ? fixed.commands : this.#dueCommands
    const sent = this.#commands.stage(commands)
    // Changes that are staged after this moment request a commit of their own.
    this.#isCommitting = fixed !== null
    const range = fixed ?? this.#rangeOfAll(commands)
    this.#coveredCounts = range
    const { unstored } = this.#parts
    const journal = this.#journalFor(sent)
    writeRange(tx, range, { unstored, additionalWrites: this.#additionalWrites, journal, sent })
    return range.mark
  }

  /** Null where there is nothing to write: the stored journal need not be loaded for that. */
  #journalFor(sent: readonly JournalEntry[]): JobJournal | null {
    return sent.length > 0 ? this.#parts.journal().writable : this.#parts.journal().loaded
  }

  /** How many commands the next commit stores: all where the job ends, since nothing is written after its end. */
  get #dueCommands(): number {
    return isTerminal(this.#parts.row.status) ? this.#commands.pendingCount : this.#commands.dueCount
  }

  /** Starts to write large values to files, and returns whether the commit must wait for that. The row may change meanwhile. */
  #spill(): boolean {
    // The transaction may run again.
    if (this.#spillController) return true
    const abort = new AbortController()
    const due = this.#dueCommands
    const entries = this.#commands.journalEntries(due)
    const spilled = this.#journalFor(entries)?.spill(abort.signal, entries)
    if (!spilled) return false
    this.#spillController = abort
    // Commands that change row and history wait for the next commit.
    const range = this.#rangeOfAll(Math.min(due, this.#commands.journalOnlyCount))
    const fixed = { ...range, row: { ...range.row } }
    spilled.then(
      () => this.#commitAfterSpill(fixed, null),
      (error) => this.#commitAfterSpill(null, error),
    )
    return true
  }

  #commitAfterSpill(range: CommitRange | null, error: unknown): void {
    this.#spillController = null
    if (this.#closeError) return
    if (range || this.#parts.row.status === 'completed') this.#commit(range)
    else if (this.#commands.pendingCount > 0) {
      // The commit may succeed without the commands.
      this.#commands.rejectAll(toServiceUnavailable(error))
      this.#onCommandsRefused()
    } else this.fail(error)
  }

  #onCommitted(error: unknown): void {
    if (error !== null) {
      if (isDamagedDataError(error) || !this.#rollBackCommands(error)) this.fail(error)
      return
    }
    this.#parts.unstored = null
    this.#parts.journal().loaded?.markCommitted()
    this.#additionalWrites.splice(0, this.#coveredCounts.extras)
    this.#flushWaiters.resolve(this.#coveredCounts.waiters)
    this.#commands.apply()
    if (this.#isCommitting || this.#commands.pendingCount > 0) this.#commitRemaining()
    this.#waiters.resolveReached()
    this.#parts.onCommitted()
    this.#parts.onCommandsDecided()
  }

  /** Rolls back commands that could not be stored. False: there were none. */
  #rollBackCommands(error: unknown): boolean {
    const sent = this.#commands.rollBack(toServiceUnavailable(error))
    if (!sent) return false
    this.#parts.journal().loaded?.drop(sent)
    this.#onCommandsRefused()
    return true
  }

  /** Continues without the refused commands. */
  #onCommandsRefused(): void {
    // Where only the commands were unwritten, waiters need no further commit.
    if (this.#hasNothing) this.#flushWaiters.resolve()
    this.#commitRemaining()
    if (this.#commands.pendingCount === 0) this.#parts.onCommandsRefused()
    this.#parts.onCommandsDecided()
  }

  get #hasNothing(): boolean {
    const left = this.#stagedEntries + this.#additionalWrites.length + this.#commands.pendingCount
    return left === 0 && this.feed.sequence === this.feed.committed
  }

  /** Commits what is left, and what came meanwhile, after a commit of a fixed range or after commands were refused. */
  #commitRemaining(): void {
    this.#isCommitting = false
    if (this.#flushWaiters.count > 0 || !this.#hasNothing) this.#commitSoon()
  }

  /** Whether stored data of the job is damaged, so that only its end can still be written. */
  canEndOnly(cause: unknown): boolean {
    return isDamagedDataError(cause) && this.#isStored && this.feed.canTrim
  }

  /** The history cannot be written: drops uncommitted changes and closes the writer. */
  fail(cause: unknown): void {
    if (this.#closeError) return
    if (this.canEndOnly(cause)) this.#parts.events.truncate(this.feed)
    else this.#parts.events.abandon(this.feed)
    this.close(toServiceUnavailable(cause))
    this.#parts.onWriteFailed(cause)
  }

  /** Whether the end of the job is committed. */
  get hasEnded(): boolean {
    return this.feed.hasEnded && isTerminal(this.#parts.row.status)
  }
}
