// Writes one active job: its row, events, journal and further rows. All changes of one turn of the event loop share a transaction. Large values go to
// files first, between two turns: the changes before that are committed after it, later changes with the next commit.
import { saveGraph } from '../../db/graphs.ts'
import { putResultPart } from '../../db/jobs/result-parts.ts'
import { insertJob, updateJob } from '../../db/jobs/rows.ts'
import type { JobTable } from '../../db/schema.ts'
import type { Tx } from '../../db/store.ts'
import { isDamagedDataError, ServiceError } from '../../errors.ts'
import type { FeedMark, JobFeed } from '../../events/job-feed.ts'
import type { EventLog } from '../../events/log.ts'
import type { EventBody, EventFrame, JobFrame } from '../../events/types.ts'
import type { CompiledWorkflowGraph } from '../../workflows/plan-cache.ts'
import type { JournalEntry } from '../journal/entry.ts'
import type { JobJournal } from '../journal/job-journal.ts'
import { isTerminal } from '../state-machine.ts'
import { createOutcomeUnknownError } from '../submission/outcome-unknown-error.ts'
import { type ActiveJobCommand, JobCommandQueue } from './command-queue.ts'
import { CommitWaiters } from './waiters.ts'

/** Writes a further row with a job, of an asset or an idempotency key for example. It may run more than once. */
export type AdditionalWrite = (tx: Tx) => void

export interface JobWriterParts {
  row: JobTable
  /** The graph to store with the row; the writer then drops it. Null: both are stored already. */
  unstored: CompiledWorkflowGraph | null
  /** Whether the submitter will follow the job from the start. */
  hasFollower: boolean
  journal: () => JobJournal
  /** The journal where it is loaded. While it is not, no entries are staged. */
  loadedJournal: () => JobJournal | null
}

export interface JobWriterHost {
  readonly events: EventLog
  timestamp(): string
  /** Called after each commit. */
  onCommitted(): void
  /** Called when commands could not be stored, and their changes were rolled back. */
  onCommandsRefused(): void
  /** Called when `isDeciding` has become false. */
  onCommandsDecided(): void
  /** Called when the job cannot be written: its uncommitted changes are lost. */
  onWriteFailed(cause: unknown): void
}

/** The changes that a commit covers. */
interface CommitRange {
  readonly row: JobTable
  readonly mark: FeedMark
  readonly entries: number
  readonly extras: number
  readonly pending: number
  readonly commands: number
}

/** At most this many events, entries and further rows wait for a commit while the run continues: writing them takes some 10 ms. */
const MOST_STAGED = 1_000
/** At most this many characters of events wait, apart from the last event: writing a million takes 8 to 12 ms. */
const MOST_STAGED_LENGTH = 1_000_000
/** At most this many further rows are written together with their value: each takes a tenth of a millisecond. */
const MOST_EXTRAS = 100

interface FlushWaiter {
  resolve(): void
  reject(error: unknown): void
}

export class JobWriter {
  readonly feed: JobFeed
  readonly #parts: JobWriterParts
  readonly #host: JobWriterHost
  readonly #waiters: CommitWaiters
  readonly #commands: JobCommandQueue
  #isStored: boolean
  #isCommitting = false
  /** Set once the writer takes no more changes: the history could not be written, or another process continues the job. */
  #closeError: ServiceError | null = null
  #additionalWrites: AdditionalWrite[] = []
  #flushWaiters: FlushWaiter[] = []
  /** How many additional writes and flush waiters the commit under way covers. */
  #coveredCounts = { extras: 0, pending: 0 }
  /** Set while large values are written to files, before their commit. */
  #spillController: AbortController | null = null

  constructor(parts: JobWriterParts, host: JobWriterHost) {
    this.#parts = parts
    this.#host = host
    this.#isStored = parts.unstored === null
    this.feed = host.events.open(parts.row.key, parts.row.last_sequence, parts.hasFollower)
    this.#waiters = new CommitWaiters(this.feed)
    this.#commands = new JobCommandQueue(parts.row, this.feed)
  }

  get isClosed(): boolean {
    return this.#closeError !== null
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
    if (this.#closeError) return
    this.feed.append(event, frame, this.#host.timestamp())
    // The journal of a completed job is not needed any more.
    if (this.#parts.row.status === 'completed') this.#spillController?.abort()
    this.#commitSoon()
  }

  /** Sends a frame to the current followers only. */
  provisional(frame: () => JobFrame): void {
    if (!this.#closeError && this.feed.hasFollowers) this.feed.provisional(frame(), this.#host.timestamp())
  }

  recordEntry(entry: JournalEntry): void {
    if (this.#closeError) return
    try {
      this.#parts.journal().stage(entry)
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
   * Writes the further rows of a value in parts before the value is published, and returns the rest, to be written with the value. Where the job ends
   * meanwhile, all unwritten rows are returned. Earlier changes are written first, so that the value is the same after an interruption.
   * @throws SERVICE_UNAVAILABLE where they cannot be written
   */
  async writeEarly(extras: readonly AdditionalWrite[]): Promise<readonly AdditionalWrite[]> {
    let left = extras
    while (left.length > MOST_EXTRAS && !isTerminal(this.#parts.row.status)) {
      for (const extra of left.slice(0, MOST_EXTRAS)) this.write(extra)
      left = left.slice(MOST_EXTRAS)
      await this.whenWritten()
    }
    return left
  }

  /**
   * Writes the parts of a large result before the job ends, one commit for each part. It stops where the job ends meanwhile.
   * @throws SERVICE_UNAVAILABLE where they cannot be written
   */
  async writeResult(parts: readonly string[]): Promise<void> {
    const { key } = this.#parts.row
    for (const [at, body] of parts.entries()) {
      if (isTerminal(this.#parts.row.status)) return
      this.write((tx) => putResultPart(tx, { job_key: key, at, body }))
      await this.whenWritten()
    }
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

  /** Whether commands wait to be stored. */
  get hasCommands(): boolean {
    return this.#commands.pendingCount > 0
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
    return new Promise((resolve, reject) => this.#flushWaiters.push({ resolve, reject }))
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
    return this.#parts.loadedJournal()?.stagedCount ?? 0
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
    this.#host.events.release(this.feed)
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
    for (const { reject } of this.#flushWaiters.splice(0)) reject(error)
    this.#commands.rejectAll(error)
  }

  #commitSoon(): void {
    if (this.#isCommitting || this.#closeError) return
    this.#isCommitting = true
    this.#commit(null)
  }

  /** Commits all changes staged by then, or the `fixed` range from before large values were written to files. */
  #commit(fixed: CommitRange | null): void {
    this.#host.events.commit(
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
    const pending = this.#dueCommands < this.#commands.pendingCount ? 0 : this.#flushWaiters.length
    return { row, mark, entries, extras: this.#additionalWrites.length, pending, commands }
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
    const { row } = range
    this.#coveredCounts = range
    const { unstored } = this.#parts
    if (this.#isStored || unstored === null) {
      if (!updateJob(tx, row)) throw new Error(`job ${row.key} belongs to another attempt now`)
    } else {
      saveGraph(tx, unstored.sha256, unstored.body)
      insertJob(tx, row)
    }
    // These come before the journal: one cancels the removal of a retry's pages, which must not undo the removal by `forget`.
    for (const extra of this.#additionalWrites.slice(0, range.extras)) extra(tx)
    this.#writeJournal(tx, range, sent)
    return range.mark
  }

  /** The journal of a completed job is removed; a failed or cancelled job may be retried. */
  #writeJournal(tx: Tx, { row, entries }: CommitRange, sent: readonly JournalEntry[]): void {
    const journal = this.#journalFor(sent)
    if (row.status === 'completed') journal?.forget(tx, sent)
    else journal?.write(tx, row.attempt, entries, sent)
  }

  /** Null where there is nothing to write: the stored journal need not be loaded for that. */
  #journalFor(sent: readonly JournalEntry[]): JobJournal | null {
    return sent.length > 0 ? this.#parts.journal() : this.#parts.loadedJournal()
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
    this.#isStored = true
    this.#parts.unstored = null
    this.#parts.loadedJournal()?.markCommitted()
    this.#additionalWrites.splice(0, this.#coveredCounts.extras)
    for (const { resolve } of this.#flushWaiters.splice(0, this.#coveredCounts.pending)) resolve()
    this.#commands.apply()
    if (this.#isCommitting || this.#commands.pendingCount > 0) this.#commitRemaining()
    this.#waiters.resolveReached()
    this.#host.onCommitted()
    this.#host.onCommandsDecided()
  }

  /** Rolls back commands that could not be stored. False: there were none. */
  #rollBackCommands(error: unknown): boolean {
    const sent = this.#commands.rollBack(toServiceUnavailable(error))
    if (!sent) return false
    this.#parts.loadedJournal()?.drop(sent)
    this.#onCommandsRefused()
    return true
  }

  /** Continues without the refused commands. */
  #onCommandsRefused(): void {
    // Where only the commands were unwritten, waiters need no further commit.
    if (this.#hasNothing) for (const { resolve } of this.#flushWaiters.splice(0)) resolve()
    this.#commitRemaining()
    this.#host.onCommandsRefused()
    this.#host.onCommandsDecided()
  }

  get #hasNothing(): boolean {
    const left = this.#stagedEntries + this.#additionalWrites.length + this.#commands.pendingCount
    return left === 0 && this.feed.sequence === this.feed.committed
  }

  /** Commits what is left, and what came meanwhile, after a commit of a fixed range or after commands were refused. */
  #commitRemaining(): void {
    this.#isCommitting = false
    if (this.#flushWaiters.length > 0 || !this.#hasNothing) this.#commitSoon()
  }

  /** Stops trimming the history, which may be damaged. */
  keepHistory(): void {
    this.feed.canTrim = false
  }

  /** Whether stored data of the job is damaged, so that only its end can still be written. */
  canEndOnly(cause: unknown): boolean {
    return isDamagedDataError(cause) && this.#isStored && this.feed.canTrim
  }

  /** The history cannot be written: drops uncommitted changes and closes the writer. */
  fail(cause: unknown): void {
    if (this.#closeError) return
    if (this.canEndOnly(cause)) this.#host.events.truncate(this.feed)
    else this.#host.events.abandon(this.feed)
    this.close(toServiceUnavailable(cause))
    this.#host.onWriteFailed(cause)
  }

  /** Whether the end of the job is committed. */
  get hasEnded(): boolean {
    return this.feed.hasEnded && isTerminal(this.#parts.row.status)
  }
}

function toServiceUnavailable(cause: unknown): ServiceError {
  return cause instanceof ServiceError ? cause : new ServiceError('SERVICE_UNAVAILABLE', { cause })
}
