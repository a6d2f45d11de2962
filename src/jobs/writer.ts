// Writes one living job: its row, its events, what it remembers and the rows that come with these, all that happened in one turn of the
// event loop in one transaction. It tells whoever waits when that is committed, and stops when it cannot be. Where large values have to be on
// disk before, that happens between two turns: what was there until then is committed after it, and what comes meanwhile with the next one.
import { keepGraph } from '../db/graphs.ts'
import { insertJob, updateJob } from '../db/jobs.ts'
import { putResultPart } from '../db/results.ts'
import type { JobTable } from '../db/schema.ts'
import type { Tx } from '../db/store.ts'
import { isDamage, ServiceError } from '../errors.ts'
import type { Feed, FeedMark } from '../events/feed.ts'
import type { EventLog } from '../events/log.ts'
import type { EventBody, EventFrame, JobFrame } from '../events/types.ts'
import type { CompiledGraph } from '../workflows/plans.ts'
import { type Command, Commands } from './commands.ts'
import type { Entry } from './entry.ts'
import type { JobMemory } from './memory.ts'
import { isTerminal } from './states.ts'
import { unconfirmed } from './unconfirmed.ts'
import { Waiters } from './waiters.ts'

/** What a job writes besides: a row of an asset, or of an idempotency key. It may run more than once. */
export type Extra = (tx: Tx) => void

export interface WriterParts {
  row: JobTable
  /** The graph, to be stored with the row, which lets go of it; null: both are in the database already. */
  unstored: CompiledGraph | null
  /** Whether its submitter will follow it from the start. */
  watched: boolean
  memory: () => JobMemory
  /** The same where it is at hand: while it is not, nothing is staged. */
  known: () => JobMemory | null
}

export interface WriterHost {
  readonly events: EventLog
  timestamp(): string
  /** Something is committed. */
  committed(): void
  /** Commands could not be stored: the job is as it was before them. */
  refused(): void
  /** `deciding` is over. */
  decided(): void
  /** It cannot be written: nothing that is not stored may be believed. */
  lost(cause: unknown): void
}

/** What a commit covers. */
interface Cover {
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

interface Pending {
  resolve(): void
  reject(error: unknown): void
}

export class JobWriter {
  readonly feed: Feed
  readonly #parts: WriterParts
  readonly #host: WriterHost
  readonly #waiters: Waiters
  readonly #commands: Commands
  #stored: boolean
  #committing = false
  /** No more is taken: the history could not be written, or another process goes on with the job. */
  #closed: ServiceError | null = null
  #extras: Extra[] = []
  #pending: Pending[] = []
  /** How many of both the commit under way covers. */
  #covers = { extras: 0, pending: 0 }
  /** Large values are being put on disk, for a commit after it. */
  #spilling: AbortController | null = null

  constructor(parts: WriterParts, host: WriterHost) {
    this.#parts = parts
    this.#host = host
    this.#stored = parts.unstored === null
    this.feed = host.events.open(parts.row.key, parts.row.last_sequence, parts.watched)
    this.#waiters = new Waiters(this.feed)
    this.#commands = new Commands(parts.row, this.feed)
  }

  get closed(): boolean {
    return this.#closed !== null
  }

  /** Whether everything up to now is committed. */
  get clean(): boolean {
    return !this.#committing && this.feed.sequence === this.feed.committed
  }

  /** Whether nothing is written or waits to be, commands included. */
  get idle(): boolean {
    return !this.#committing && this.#spilling === null && this.#hasNothing
  }

  /** Stages a durable event. @throws what writing its text throws; nothing is staged then */
  append(event: EventBody, frame: EventFrame | null): void {
    if (this.#closed) return
    this.feed.append(event, frame, this.#host.timestamp())
    // Nobody will ask for what it remembers.
    if (this.#parts.row.status === 'completed') this.#spilling?.abort()
    this.#commitSoon()
  }

  /** Adds a frame that is only for those who watch now. */
  provisional(frame: () => JobFrame): void {
    if (!this.#closed && this.feed.followed) this.feed.provisional(frame(), this.#host.timestamp())
  }

  remember(entry: Entry): void {
    if (this.#closed) return
    try {
      this.#parts.memory().stage(entry)
    } catch (error) {
      this.lose(error)
    }
    this.#commitSoon()
  }

  /** Writes a further row with the next commit. */
  write(extra: Extra): void {
    if (this.#closed) return
    this.#extras.push(extra)
    this.#commitSoon()
  }

  /**
   * Writes the further rows of a value before the value is told, some at a time, and gives those that are left to be written with it: where the job ends
   * meanwhile, all that are not written. What the value comes from is written before them, so that it comes out the same after an interruption.
   * @throws SERVICE_UNAVAILABLE where they cannot be written
   */
  async writeEarly(extras: readonly Extra[]): Promise<readonly Extra[]> {
    let left = extras
    while (left.length > MOST_EXTRAS && !isTerminal(this.#parts.row.status)) {
      for (const extra of left.slice(0, MOST_EXTRAS)) this.write(extra)
      left = left.slice(MOST_EXTRAS)
      await this.written()
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
      await this.written()
    }
  }

  /**
   * Stores a command, and has the job take it after that. Where it cannot be stored, what the job has done by itself is written without it.
   * @throws SERVICE_UNAVAILABLE, DATA_DAMAGED, or OUTCOME_UNKNOWN where it cannot be
   */
  command(command: Command): Promise<void> {
    if (this.#closed) return Promise.reject(this.#closed)
    const stored = this.#commands.add(command)
    this.#commitSoon()
    return stored
  }

  /** Whether commands wait to be stored. */
  get hasCommands(): boolean {
    return this.#commands.waiting > 0
  }

  /** Whether a transaction has written a command, and it is not known yet whether it was committed: nothing may happen to the job now. */
  get deciding(): boolean {
    return this.#commands.deciding
  }

  /** Resolves when everything that is staged now is committed. @throws SERVICE_UNAVAILABLE where it cannot be */
  written(): Promise<void> {
    if (this.#closed) return Promise.reject(this.#closed)
    if (this.clean) return Promise.resolve()
    this.#commitSoon()
    return new Promise((resolve, reject) => this.#pending.push({ resolve, reject }))
  }

  /** Resolves when all that is remembered until now is committed; null: it is already. @throws SERVICE_UNAVAILABLE where it cannot be */
  remembered(): Promise<void> | null {
    return this.#closed || this.#staged > 0 ? this.written() : null
  }

  /** Null: the run may go on. Otherwise so much of it is staged that it waits until that is committed, or until that fails. */
  backlog(): Promise<void> | null {
    const { sequence, committed, staged_length } = this.feed
    const staged = sequence - committed + this.#staged + this.#extras.length
    const isLittle = staged < MOST_STAGED && staged_length < MOST_STAGED_LENGTH
    return this.#closed || isLittle ? null : this.written()
  }

  /** How many entries are staged. */
  get #staged(): number {
    return this.#parts.known()?.staged ?? 0
  }

  /** Resolves when the first event is committed: the job will not be lost any more. */
  accepted(): Promise<void> {
    return this.#waiters.until(1)
  }

  /** Resolves when the terminal event is committed, or when the job rests. */
  settled(): Promise<void> {
    return this.#waiters.until(null)
  }

  /** The job goes on later, in another writer. */
  rest(): void {
    this.#host.events.rest(this.feed)
    this.#waiters.release()
  }

  /**
   * Takes nothing more, and lets go of whoever waits for what will not come in this process. What is not committed by now is not stored. Who waits
   * for the job itself is told its name, where it is stored or may be.
   */
  close(error: ServiceError): void {
    if (this.#closed) return
    this.#closed = error
    this.#spilling?.abort()
    const isStored = this.#stored || error.code === 'OUTCOME_UNKNOWN'
    this.#waiters.lose(isStored ? unconfirmed(this.#parts.row.id, error.cause) : error)
    for (const { reject } of this.#pending.splice(0)) reject(error)
    this.#commands.refuse(error)
  }

  #commitSoon(): void {
    if (this.#committing || this.#closed) return
    this.#committing = true
    this.#commit(null)
  }

  /** All that is staged at the moment of the commit, or what was there before large values of it went to disk. */
  #commit(fixed: Cover | null): void {
    this.#host.events.commit(
      this.feed,
      (tx) => this.#writeAll(tx, fixed),
      (error) => this.#committed(error),
    )
  }

  #coverAll(commands: number): Cover {
    const { row } = this.#parts
    const { mark } = this.feed
    row.last_sequence = mark.sequence
    const entries = this.#staged
    // Whoever waits for all of it waits for commands that are left as well.
    const pending = this.#dueCommands < this.#commands.waiting ? 0 : this.#pending.length
    return { row, mark, entries, extras: this.#extras.length, pending, commands }
  }

  #writeAll(tx: Tx, fixed: Cover | null): FeedMark | null {
    // Whoever waited for this has been told that it is not stored.
    if (this.#closed) return null
    if (!fixed && this.#parts.row.status !== 'completed' && this.#spill()) return null
    const commands = fixed ? fixed.commands : this.#dueCommands
    const sent = this.#commands.stage(commands)
    // Only what was staged before this moment is written; what comes later asks for a commit of its own.
    this.#committing = fixed !== null
    const cover = fixed ?? this.#coverAll(commands)
    const { row } = cover
    this.#covers = cover
    const { unstored } = this.#parts
    if (this.#stored || unstored === null) {
      if (!updateJob(tx, row)) throw new Error(`job ${row.key} is no longer this attempt's`)
    } else {
      keepGraph(tx, unstored.sha256, unstored.body)
      insertJob(tx, row)
    }
    // One of them has the pages of a retry kept, which is not to undo that they are forgotten.
    for (const extra of this.#extras.slice(0, cover.extras)) extra(tx)
    this.#writeMemory(tx, cover, sent)
    return cover.mark
  }

  /** Nothing of a job that has completed will be asked for again; one that failed or was cancelled may be tried again. */
  #writeMemory(tx: Tx, { row, entries }: Cover, sent: readonly Entry[]): void {
    const memory = this.#memoryFor(sent)
    if (row.status === 'completed') memory?.forget(tx, sent)
    else memory?.write(tx, row.attempt, entries, sent)
  }

  /** Null where there is nothing to write: what is stored need not be read for that. */
  #memoryFor(sent: readonly Entry[]): JobMemory | null {
    return sent.length > 0 ? this.#parts.memory() : this.#parts.known()
  }

  /** How many commands the next commit stores. Behind one in which the job ends nothing more is written. */
  get #dueCommands(): number {
    return isTerminal(this.#parts.row.status) ? this.#commands.waiting : this.#commands.due
  }

  /** Whether large values have to be on disk first. The row goes on changing meanwhile. */
  #spill(): boolean {
    // The unit of a commit may run again.
    if (this.#spilling) return true
    const abort = new AbortController()
    const due = this.#dueCommands
    const entries = this.#commands.entries(due)
    const spilled = this.#memoryFor(entries)?.spill(abort.signal, entries)
    if (!spilled) return false
    this.#spilling = abort
    // What a command changes of row and history waits for the next commit.
    const cover = this.#coverAll(Math.min(due, this.#commands.keptAlone))
    const fixed = { ...cover, row: { ...cover.row } }
    spilled.then(
      () => this.#goOn(fixed, null),
      (error) => this.#goOn(null, error),
    )
    return true
  }

  #goOn(cover: Cover | null, error: unknown): void {
    this.#spilling = null
    if (this.#closed) return
    if (cover || this.#parts.row.status === 'completed') this.#commit(cover)
    else if (this.#commands.waiting > 0) {
      // Without them it may go well.
      this.#commands.refuse(unavailable(error))
      this.#refused()
    } else this.lose(error)
  }

  #committed(error: unknown): void {
    if (error !== null) {
      if (isDamage(error) || !this.#takeBack(error)) this.lose(error)
      return
    }
    this.#stored = true
    this.#parts.unstored = null
    this.#parts.known()?.written()
    this.#extras.splice(0, this.#covers.extras)
    for (const { resolve } of this.#pending.splice(0, this.#covers.pending)) resolve()
    this.#commands.apply()
    if (this.#committing || this.#commands.waiting > 0) this.#next()
    this.#waiters.wake()
    this.#host.committed()
    this.#host.decided()
  }

  /** Takes commands back that could not be stored. False: there were none. */
  #takeBack(error: unknown): boolean {
    const sent = this.#commands.takeBack(unavailable(error))
    if (!sent) return false
    this.#parts.known()?.drop(sent)
    this.#refused()
    return true
  }

  /** Goes on without the commands that were refused. */
  #refused(): void {
    // Who waits for no more than them need not wait for a commit that has nothing to write.
    if (this.#hasNothing) for (const { resolve } of this.#pending.splice(0)) resolve()
    this.#next()
    this.#host.refused()
    this.#host.decided()
  }

  /** Whether nothing waits to be written. */
  get #hasNothing(): boolean {
    const left = this.#staged + this.#extras.length + this.#commands.waiting
    return left === 0 && this.feed.sequence === this.feed.committed
  }

  /** After large values went to disk, some commands were stored, or others refused: what is left, and what came meanwhile. */
  #next(): void {
    this.#committing = false
    if (this.#pending.length > 0 || !this.#hasNothing) this.#commitSoon()
  }

  /** Removes nothing more of the history, of which something may be damaged. */
  keepHistory(): void {
    this.feed.trims = false
  }

  /** Whether it cannot be written because something that is stored of it is damaged, so that its end is all that may be. */
  canEndOnly(cause: unknown): boolean {
    return isDamage(cause) && this.#stored && this.feed.trims
  }

  /** What belongs to the history cannot be written: no more of it is. */
  lose(cause: unknown): void {
    if (this.#closed) return
    if (this.canEndOnly(cause)) this.#host.events.cut(this.feed)
    else this.#host.events.abandon(this.feed)
    this.close(unavailable(cause))
    this.#host.lost(cause)
  }

  /** Whether the job has ended and everybody may know it. */
  get ended(): boolean {
    return this.feed.ended && isTerminal(this.#parts.row.status)
  }
}

function unavailable(cause: unknown): ServiceError {
  return cause instanceof ServiceError ? cause : new ServiceError('SERVICE_UNAVAILABLE', { cause })
}
