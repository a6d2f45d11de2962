// Loads the journals of stored jobs. A small journal is read when it is needed. A large journal is read in advance, in time slices of the job's owner.
import { hasMoreEventsThan } from '../../db/jobs/events.ts'
import { hasMorePagesThan } from '../../db/jobs/journal.ts'
import { hasSpilledValues } from '../../db/jobs/spilled-values.ts'
import { type OwnerScope, userShareKey } from '../../db/owner-scope.ts'
import type { Store, Tx } from '../../db/store.ts'
import type { JobTable } from '../../db/tables/jobs.ts'
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

/** Pages, and bytes in them. A larger journal is read in steps. */
const MOST_PAGES = 16
const MOST_BYTES = 131_072
/** Events of a history, and bytes in them. A longer history is read in steps. */
const MOST_EVENTS = 1_000
const MOST_EVENT_BYTES = 1_048_576

/** The message of a job that ends because its journal cannot be read. */
export const UNREADABLE_JOURNAL = 'What the job needs to go on cannot be read.'

export interface JournalLoaderParts extends JournalStorage {
  readonly store: Store
  readonly log: Log
  /** Counts the memory of firings. */
  readonly shared_memory: FiringMemoryAccount
}

/** What a job continues from: its journal, and the events that it has published. */
export interface LoadedJournal {
  readonly journal: JobJournal
  /** Null where the journal cannot be used, so that the history is not needed. */
  readonly publishedHistory: PublishedHistory | null
}

/** A journal that is read in advance. */
interface JournalReading {
  readonly done: Promise<void>
  /** The last event of the job when the reading began. */
  readonly sequence: number
  /** Null until the journal is read, and where it cannot be read. */
  loaded: LoadedJournal | null
  /** Set where there is no memory for the journal now. */
  refused: MemoryUnavailableError | null
  users: number
}

export class JournalLoader {
  readonly #parts: JournalLoaderParts
  readonly #slices: TimeSliceScheduler
  /** Readings by job key. */
  readonly #readings = new Map<number, JournalReading>()
  /** Jobs for whose journals there was no room, with the bytes that were counted. So many must be free before the journal is read again. */
  readonly #refused = new Map<number, number>()

  constructor(parts: JournalLoaderParts, slices: TimeSliceScheduler) {
    this.#parts = parts
    this.#slices = slices
  }

  /** Whether reading the journal takes long. It is false where the database cannot be read: the read itself then fails with the reason. */
  isLarge({ key }: Pick<JobTable, 'key'>): boolean {
    return this.#readFlag((tx) => hasSpilledValues(tx, key) || hasMorePagesThan(tx, key, MOST_PAGES, MOST_BYTES))
  }

  /** Whether reading the history takes long, however small the journal is. */
  #hasLongHistory({ key }: JobTable): boolean {
    return this.#readFlag((tx) => hasMoreEventsThan(tx, key, MOST_EVENTS, MOST_EVENT_BYTES))
  }

  /** Runs `test`, and returns false where the database cannot be read. */
  #readFlag(test: (tx: Tx) => boolean): boolean {
    try {
      return this.#parts.store.read(test)
    } catch {
      return false
    }
  }

  /**
   * Reads a large journal or a long history for `take`, and keeps it until the result is disposed of; null where both are small. A failed read is repeated
   * when the journal is needed. It rejects only with MemoryUnavailableError.
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

  /** The result of `prepare`, if it is still complete; else null. The caller owns it: a second call returns null. */
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
   * Reads the journal of a stored job at once. It is an unreadable journal where the stored journal is missing, damaged or too large.
   * @throws SERVICE_UNAVAILABLE where it cannot be read now, MemoryUnavailableError
   */
  of(row: JobTable): JobJournal {
    try {
      const journal = runToCompletion(this.loadSteps(row))
      if (journal) return journal
      this.#parts.log.error({ job_id: row.id }, 'job journal missing')
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
      const journal = yield* this.loadSteps(row)
      return journal && { journal, publishedHistory: yield* this.#readHistorySteps(row, journal) }
    } catch (err) {
      if (!(err instanceof JournalTooLargeError)) throw err
      this.#throwIfTransient(row, err)
      return { journal: this.#createTooLargeJournal(row, err), publishedHistory: null }
    }
  }

  *#readHistorySteps({ key }: JobTable, journal: JobJournal): Steps<PublishedHistory> {
    try {
      return yield* PublishedHistory.loadSteps(this.#parts.store, key)
    } catch (error) {
      journal.releaseMemory()
      throw error
    }
  }

  /** Reads the journal of a stored job; null where none is stored. @throws as `JobJournal.loadSteps` */
  *loadSteps(row: JobTable): Steps<JobJournal | null> {
    const reservation = this.createFiringReservation(row)
    try {
      reservation.reserve(this.#refused.get(row.key) ?? 0)
      const journal = yield* JobJournal.loadSteps(this.#parts.store, this.#parts, row.key, reservation)
      this.#refused.delete(row.key)
      return journal
    } catch (error) {
      if (!(error instanceof MemoryUnavailableError)) this.#refused.delete(row.key)
      else if (reservation.peak > 0) this.#refused.set(row.key, reservation.peak)
      throw error
    }
  }

  /** Counts the firings of one job of an owner. */
  createFiringReservation(owner: OwnerScope): FiringMemoryReservation {
    return new FiringMemoryReservation(this.#parts.shared_memory, userShareKey(owner))
  }

  #throwIfTransient({ id }: JobTable, err: unknown): void {
    const transientFault = toTransientFault(err)
    if (transientFault) throw transientFault
    this.#parts.log.error({ err, job_id: id }, 'job journal unreadable')
  }

  /**
   * The wait requests of a stored job's firings, by name; empty where the journal is missing or damaged.
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
