// Writes one living job: its row, its events, what it remembers and the rows that come with these, all that happened in one turn of the
// event loop in one transaction. It tells whoever waits when that is committed, and stops when it cannot be. Where large values have to be on
// disk before, that happens between two turns: what was there until then is committed after it, and what comes meanwhile with the next one.
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

/** What a job writes besides: a row of an asset, or of an idempotency key. It may run more than once. */
export type AdditionalWrite = (tx: Tx) => void

export interface JobWriterParts {
  row: JobTable
  /** The graph, to be stored with the row, which lets go of it; null: both are in the database already. */
  unstored: CompiledWorkflowGraph | null
  /** Whether its submitter will follow it from the start. */
  hasFollower: boolean
  journal: () => JobJournal
  /** The same where it is at hand: while it is not, nothing is staged. */
  loadedJournal: () => JobJournal | null
}

export interface JobWriterHost {
  readonly events: EventLog
  timestamp(): string
  /** Something is committed. */
  onCommitted(): void
  /** Commands could not be stored: the job is as it was before them. */
  onCommandsRefused(): void
  /** `deciding` is over. */
  onCommandsDecided(): void
  /** It cannot be written: nothing that is not stored may be believed. */
  onWriteFailed(cause: unknown): void
}

/** What a commit covers. */
interface CommitRange {
  readonly row: JobTable
  readonly mark: FeedMark
  readonly entries: number
  readonly extras: number
  readonly pending: number
  readonly commands: number
}

/** So many events, entries and further rows at most wait for a commit while the run goes on: to write them takes some 10 ms. */
const MOST_STAGED = 1_000
/** So many characters of events at most, but for the last one: a million takes 8 to 12 ms. */
const MOST_STAGED_LENGTH = 1_000_000
/** So many further rows at most are written with the value that they belong to: each takes a tenth of a millisecond. */
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
  /** No more is taken: the history could not be written, or another process goes on with the job. */
  #closeError: ServiceError | null = null
  #additionalWrites: AdditionalWrite[] = []
  #flushWaiters: FlushWaiter[] = []
  /** How many of both the commit under way covers. */
  #coveredCounts = { extras: 0, pending: 0 }
  /** Large values are being put on disk, for a commit after it. */
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

  /** Whether everything up to now is committed. */
  get isClean(): boolean {
    return !this.#isCommitting && this.feed.sequence === this.feed.committed
  }

  /** Whether nothing is written or waits to be, commands included. */
  get isIdle(): boolean {
    return !this.#isCommitting && this.#spillController === null && this.#hasNothing
  }

  /** Stages a durable event. @throws what writing its text throws; nothing is staged then */
  append(event: EventBody, frame: EventFrame | null): void {
    if (this.#closeError) return
    this.feed.append(event, frame, this.#host.timestamp())
    // Nobody will ask for what it remembers.
    if (this.#parts.row.status === 'completed') this.#spillController?.abort()
    this.#commitSoon()
  }

  /** Adds a frame that is only for those who watch now. */
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
   * Writes the further rows of a value before the value is told, some at a time, and gives those that are left to be written with it: where the job ends
   * meanwhile, all that are not written. What the value comes from is written before them, so that it comes out the same after an interruption.
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
   * Writes the parts of a large result before the job ends with it, each with a commit of its own; none any more where it ends meanwhile.
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
   * Stores a command, and has the job take it after that. Where it cannot be stored, what the job has done by itself is written without it.
   * @throws SERVICE_UNAVAILABLE, DATA_DAMAGED, or OUTCOME_UNKNOWN where it cannot be
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

  /** Whether a transaction has written a command, and it is not known yet whether it was committed: nothing may happen to the job now. */
  get isDeciding(): boolean {
    return this.#commands.isDeciding
  }

  /** Resolves when everything that is staged now is committed. @throws SERVICE_UNAVAILABLE where it cannot be */
  whenWritten(): Promise<void> {
    if (this.#closeError) return Promise.reject(this.#closeError)
    if (this.isClean) return Promise.resolve()
    this.#commitSoon()
    return new Promise((resolve, reject) => this.#flushWaiters.push({ resolve, reject }))
  }

  /** Resolves when all that is remembered until now is committed; null: it is already. @throws SERVICE_UNAVAILABLE where it cannot be */
  whenJournalWritten(): Promise<void> | null {
    return this.#closeError || this.#stagedEntries > 0 ? this.whenWritten() : null
  }

  /** Null: the run may go on. Otherwise so much of it is staged that it waits until that is committed, or until that fails. */
  backlog(): Promise<void> | null {
    const { sequence, committed, staged_length } = this.feed
    const staged = sequence - committed + this.#stagedEntries + this.#additionalWrites.length
    const isLittle = staged < MOST_STAGED && staged_length < MOST_STAGED_LENGTH
    return this.#closeError || isLittle ? null : this.whenWritten()
  }

  /** How many entries are staged. */
  get #stagedEntries(): number {
    return this.#parts.loadedJournal()?.stagedCount ?? 0
  }

  /** Resolves when the first event is committed: the job will not be lost any more. */
  whenAccepted(): Promise<void> {
    return this.#waiters.waitFor(1)
  }

  /** Resolves when the terminal event is committed, or when the job rests. */
  whenSettled(): Promise<void> {
    return this.#waiters.waitFor(null)
  }

  /** The job goes on later, in another writer. */
  suspend(): void {
    this.#host.events.release(this.feed)
    this.#waiters.resolveAll()
  }

  /**
   * Takes nothing more, and lets go of whoever waits for what will not come in this process. What is not committed by now is not stored. Who waits
   * for the job itself is told its name, where it is stored or may be.
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

  /** All that is staged at the moment of the commit, or what was there before large values of it went to disk. */
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
    // Whoever waits for all of it waits for commands that are left as well.
    const pending = this.#dueCommands < this.#commands.pendingCount ? 0 : this.#flushWaiters.length
    return { row, mark, entries, extras: this.#additionalWrites.length, pending, commands }
  }

  #writeAll(tx: Tx, fixed: CommitRange | null): FeedMark | null {
    // Whoever waited for this has been told that it is not stored.
    if (this.#closeError) return null
    if (!fixed && this.#parts.row.status !== 'completed' && this.#spill()) return null
    const commands = fixed ? fixed.commands : this.#dueCommands
    const sent = this.#commands.stage(commands)
    // Only what was staged before this moment is written; what comes later asks for a commit of its own.
    this.#isCommitting = fixed !== null
    const cover = fixed ?? this.#rangeOfAll(commands)
    const { row } = cover
    this.#coveredCounts = cover
    const { unstored } = this.#parts
    if (this.#isStored || unstored === null) {
      if (!updateJob(tx, row)) throw new Error(`job ${row.key} is no longer this attempt's`)
    } else {
      saveGraph(tx, unstored.sha256, unstored.body)
      insertJob(tx, row)
    }
    // One of them has the pages of a retry kept, which is not to undo that they are forgotten.
    for (const extra of this.#additionalWrites.slice(0, cover.extras)) extra(tx)
    this.#writeJournal(tx, cover, sent)
    return cover.mark
  }

  /** Nothing of a job that has completed will be asked for again; one that failed or was cancelled may be tried again. */
  #writeJournal(tx: Tx, { row, entries }: CommitRange, sent: readonly JournalEntry[]): void {
    const memory = this.#journalFor(sent)
    if (row.status === 'completed') memory?.forget(tx, sent)
    else memory?.write(tx, row.attempt, entries, sent)
  }

  /** Null where there is nothing to write: what is stored need not be read for that. */
  #journalFor(sent: readonly JournalEntry[]): JobJournal | null {
    return sent.length > 0 ? this.#parts.journal() : this.#parts.loadedJournal()
  }

  /** How many commands the next commit stores. Behind one in which the job ends nothing more is written. */
  get #dueCommands(): number {
    return isTerminal(this.#parts.row.status) ? this.#commands.pendingCount : this.#commands.dueCount
  }

  /** Whether large values have to be on disk first. The row goes on changing meanwhile. */
  #spill(): boolean {
    // The unit of a commit may run again.
    if (this.#spillController) return true
    const abort = new AbortController()
    const due = this.#dueCommands
    const entries = this.#commands.journalEntries(due)
    const spilled = this.#journalFor(entries)?.spill(abort.signal, entries)
    if (!spilled) return false
    this.#spillController = abort
    // What a command changes of row and history waits for the next commit.
    const cover = this.#rangeOfAll(Math.min(due, this.#commands.journalOnlyCount))
    const fixed = { ...cover, row: { ...cover.row } }
    spilled.then(
      () => this.#commitAfterSpill(fixed, null),
      (error) => this.#commitAfterSpill(null, error),
    )
    return true
  }

  #commitAfterSpill(cover: CommitRange | null, error: unknown): void {
    this.#spillController = null
    if (this.#closeError) return
    if (cover || this.#parts.row.status === 'completed') this.#commit(cover)
    else if (this.#commands.pendingCount > 0) {
      // Without them it may go well.
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

  /** Takes commands back that could not be stored. False: there were none. */
  #rollBackCommands(error: unknown): boolean {
    const sent = this.#commands.rollBack(toServiceUnavailable(error))
    if (!sent) return false
    this.#parts.loadedJournal()?.drop(sent)
    this.#onCommandsRefused()
    return true
  }

  /** Goes on without the commands that were refused. */
  #onCommandsRefused(): void {
    // Who waits for no more than them need not wait for a commit that has nothing to write.
    if (this.#hasNothing) for (const { resolve } of this.#flushWaiters.splice(0)) resolve()
    this.#commitRemaining()
    this.#host.onCommandsRefused()
    this.#host.onCommandsDecided()
  }

  /** Whether nothing waits to be written. */
  get #hasNothing(): boolean {
    const left = this.#stagedEntries + this.#additionalWrites.length + this.#commands.pendingCount
    return left === 0 && this.feed.sequence === this.feed.committed
  }

  /** After large values went to disk, some commands were stored, or others refused: what is left, and what came meanwhile. */
  #commitRemaining(): void {
    this.#isCommitting = false
    if (this.#flushWaiters.length > 0 || !this.#hasNothing) this.#commitSoon()
  }

  /** Removes nothing more of the history, of which something may be damaged. */
  keepHistory(): void {
    this.feed.canTrim = false
  }

  /** Whether it cannot be written because something that is stored of it is damaged, so that its end is all that may be. */
  canEndOnly(cause: unknown): boolean {
    return isDamagedDataError(cause) && this.#isStored && this.feed.canTrim
  }

  /** What belongs to the history cannot be written: no more of it is. */
  fail(cause: unknown): void {
    if (this.#closeError) return
    if (this.canEndOnly(cause)) this.#host.events.truncate(this.feed)
    else this.#host.events.abandon(this.feed)
    this.close(toServiceUnavailable(cause))
    this.#host.onWriteFailed(cause)
  }

  /** Whether the job has ended and everybody may know it. */
  get hasEnded(): boolean {
    return this.feed.hasEnded && isTerminal(this.#parts.row.status)
  }
}

function toServiceUnavailable(cause: unknown): ServiceError {
  return cause instanceof ServiceError ? cause : new ServiceError('SERVICE_UNAVAILABLE', { cause })
}
