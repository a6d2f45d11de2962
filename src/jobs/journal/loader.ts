// Reads what stored jobs remember. A small memory is read when it is needed. A large one is read before, in time slices of the job's owner.
import { hasMoreEventsThan } from '../../db/jobs/events.ts'
import { hasMorePagesThan } from '../../db/jobs/journal.ts'
import { hasSpilledValues } from '../../db/jobs/spilled-values.ts'
import { type OwnerScope, userShareKey } from '../../db/owner-scope.ts'
import type { JobTable } from '../../db/schema.ts'
import type { Store, Tx } from '../../db/store.ts'
import type { WaitRequest } from '../../engine/durability/journal.ts'
import type { Log } from '../../log.ts'
import { MemoryUnavailableError } from '../../payloads/fair-memory-account.ts'
import { runToCompletion, type Steps, type TimeSliceScheduler } from '../../shared/time-slices.ts'
import { PublishedHistory } from '../history/published-history.ts'
import { toTransientFault } from '../recovery/transient-faults.ts'
import { type FiringMemoryAccount, FiringMemoryReservation, JournalTooLargeError } from './firing-memory-account.ts'
import { JobJournal } from './job-journal.ts'
import { readWaitRequestsSteps } from './page-reader.ts'
import type { JournalStorage } from './page-writer.ts'

/** Pages, and bytes in them. A memory with more is read in steps. */
const MOST_PAGES = 16
const MOST_BYTES = 131_072
/** Events of a history, and bytes in them: a history with more is read in steps. */
const MOST_EVENTS = 1_000
const MOST_EVENT_BYTES = 1_048_576

/** What a job is told that ends because of that. */
export const UNREADABLE_JOURNAL = 'What the job needs to go on cannot be read.'

export interface JournalLoaderParts extends JournalStorage {
  readonly store: Store
  readonly log: Log
  /** Where what is remembered of firings counts. */
  readonly shared_memory: FiringMemoryAccount
}

/** What a job goes on from: its memory, and what its history says. */
export interface LoadedJournal {
  readonly journal: JobJournal
  /** Null where nobody needs it: the memory cannot be known. */
  readonly publishedHistory: PublishedHistory | null
}

/** A memory that is read before it is needed. */
interface JournalReading {
  readonly done: Promise<void>
  /** The last event of the job when the reading began. */
  readonly sequence: number
  /** Null until the memory is read, and where it cannot be read. */
  loaded: LoadedJournal | null
  /** There is no room for it now. */
  refused: MemoryUnavailableError | null
  users: number
}

export class JournalLoader {
  readonly #parts: JournalLoaderParts
  readonly #slices: TimeSliceScheduler
  /** By job. */
  readonly #readings = new Map<number, JournalReading>()
  /** By job for which there was no room, how many bytes it had come to: there is to be room for them before it is read again. */
  readonly #refused = new Map<number, number>()

  constructor(parts: JournalLoaderParts, slices: TimeSliceScheduler) {
    this.#parts = parts
    this.#slices = slices
  }

  /** Whether reading the memory takes long. False where the database cannot be read: the read itself fails with the reason. */
  isLarge({ key }: Pick<JobTable, 'key'>): boolean {
    return this.#readFlag((tx) => hasSpilledValues(tx, key) || hasMorePagesThan(tx, key, MOST_PAGES, MOST_BYTES))
  }

  /** Whether reading what the history says takes long, however small the memory is. */
  #hasLongHistory({ key }: JobTable): boolean {
    return this.#readFlag((tx) => hasMoreEventsThan(tx, key, MOST_EVENTS, MOST_EVENT_BYTES))
  }

  /** False also where the database cannot be read. */
  #readFlag(test: (tx: Tx) => boolean): boolean {
    try {
      return this.#parts.store.read(test)
    } catch {
      return false
    }
  }

  /**
   * Reads a large memory, or one whose job has a long history, for `take`, and keeps it until the result is disposed of; null where both are small. What
   * cannot be read now is read again when it is needed. It rejects with NoRoom alone.
   */
  prepare(row: JobTable): Promise<Disposable> | null {
    const reading = this.#readings.get(row.key) ?? this.#beginReading(row)
    if (!reading) return null
    reading.users++
    return reading.done.then(() => {
      if (reading.refused === null) return { [Symbol.dispose]: () => this.#leaveReading(row.key, reading) }
      this.#leaveReading(row.key, reading)
      throw reading.refused
    })
  }

  #beginReading(row: JobTable): JournalReading | null {
    if (!this.isLarge(row) && !this.#hasLongHistory(row)) return null
    const reading: JournalReading = {
      done: this.#slices.run(userShareKey(row), this.#readSteps(row)).then(
        (read) => {
          reading.loaded = read
        },
        (error) => {
          if (error instanceof MemoryUnavailableError) reading.refused = error
        },
      ),
      sequence: row.last_sequence,
      loaded: null,
      refused: null,
      users: 0,
    }
    this.#readings.set(row.key, reading)
    return reading
  }

  #leaveReading(job_key: number, reading: JournalReading): void {
    if (--reading.users === 0) this.#discardReading(job_key, reading)
  }

  #discardReading(job_key: number, reading: JournalReading): void {
    reading.loaded?.journal.releaseMemory()
    this.#removeReading(job_key, reading)
  }

  #removeReading(job_key: number, reading: JournalReading): void {
    reading.loaded = null
    if (this.#readings.get(job_key) === reading) this.#readings.delete(job_key)
  }

  /** What `prepare` read, if it is still all that is stored; else null. The caller owns it: a second call gives null. */
  take({ key, last_sequence }: JobTable): LoadedJournal | null {
    const reading = this.#readings.get(key)
    const read = reading?.loaded ?? null
    if (!reading || !read) return null
    this.#removeReading(key, reading)
    const isWhole = reading.sequence === last_sequence && this.#readFlag((tx) => read.journal.isWhole(tx))
    if (isWhole) return read
    read.journal.releaseMemory()
    return null
  }

  /**
   * What a stored job remembers, read at once; empty where that is missing or damaged, or is too much.
   * @throws SERVICE_UNAVAILABLE where it cannot be read now, NoRoom
   */
  of(row: JobTable): JobJournal {
    try {
      const memory = runToCompletion(this.loadSteps(row))
      if (memory) return memory
      this.#parts.log.error({ job_id: row.id }, 'what a job needs to go on is not stored')
    } catch (err) {
      this.#throwIfTransient(row, err)
      if (err instanceof JournalTooLargeError) return this.#createTooLargeJournal(row, err)
    }
    return JobJournal.createUnreadable(this.#parts, row.key, UNREADABLE_JOURNAL)
  }

  #createTooLargeJournal({ key }: JobTable, { message }: JournalTooLargeError): JobJournal {
    return JobJournal.createUnreadable(this.#parts, key, message)
  }

  *#readSteps(row: JobTable): Steps<LoadedJournal | null> {
    try {
      const memory = yield* this.loadSteps(row)
      return memory && { journal: memory, publishedHistory: yield* this.#readHistorySteps(row, memory) }
    } catch (err) {
      if (!(err instanceof JournalTooLargeError)) throw err
      this.#throwIfTransient(row, err)
      return { journal: this.#createTooLargeJournal(row, err), publishedHistory: null }
    }
  }

  *#readHistorySteps({ key }: JobTable, memory: JobJournal): Steps<PublishedHistory> {
    try {
      return yield* PublishedHistory.loadSteps(this.#parts.store, key)
    } catch (error) {
      memory.releaseMemory()
      throw error
    }
  }

  /** What a stored job remembers; null where that is not stored. @throws as `JobMemory.loadSteps` */
  *loadSteps(row: JobTable): Steps<JobJournal | null> {
    const counts = this.createFiringReservation(row)
    try {
      counts.reserve(this.#refused.get(row.key) ?? 0)
      const memory = yield* JobJournal.loadSteps(this.#parts.store, this.#parts, row.key, counts)
      this.#refused.delete(row.key)
      return memory
    } catch (error) {
      if (!(error instanceof MemoryUnavailableError)) this.#refused.delete(row.key)
      else if (counts.peak > 0) this.#refused.set(row.key, counts.peak)
      throw error
    }
  }

  /** Where what an owner's job remembers of its firings counts. */
  createFiringReservation(owner: OwnerScope): FiringMemoryReservation {
    return new FiringMemoryReservation(this.#parts.shared_memory, userShareKey(owner))
  }

  #throwIfTransient({ id }: JobTable, err: unknown): void {
    const momentary = toTransientFault(err)
    if (momentary) throw momentary
    this.#parts.log.error({ err, job_id: id }, 'what a job needs to go on cannot be read')
  }

  /**
   * What the firings of a stored job wait for, by their names; empty where that is missing or damaged.
   * @throws SERVICE_UNAVAILABLE where it cannot be read now
   */
  async readWaitRequests(row: JobTable): Promise<ReadonlyMap<string, WaitRequest>> {
    const steps = readWaitRequestsSteps(this.#parts.store, this.#parts, row.key)
    try {
      return this.isLarge(row) ? await this.#slices.run(userShareKey(row), steps) : runToCompletion(steps)
    } catch (err) {
      this.#throwIfTransient(row, err)
      return new Map()
    }
  }
}
