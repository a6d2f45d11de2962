// Reads what stored jobs remember. A small memory is read when it is needed. A large one is read before, in time slices of the job's owner.
import { hasEventsBeyond } from '../db/job-events.ts'
import { hasPagesBeyond } from '../db/job-journal.ts'
import type { JobTable } from '../db/schema.ts'
import { userKey } from '../db/scope.ts'
import { hasSpilledValues } from '../db/spilled-values.ts'
import type { Store, Tx } from '../db/store.ts'
import type { WaitRequest } from '../engine/journal.ts'
import type { Log } from '../log.ts'
import { finish, type Steps, type TimeSlices } from '../time-slices.ts'
import { waitRequests } from './journal-reading.ts'
import { JobMemory } from './memory.ts'
import { momentaryFault } from './momentary.ts'
import type { MemoryTools } from './spilling.ts'
import { Told } from './told.ts'

/** Pages, and bytes in them. A memory with more is read in steps. */
const MOST_PAGES = 16
const MOST_BYTES = 131_072
/** Events of a history, and bytes in them: a history with more is read in steps. */
const MOST_EVENTS = 1_000
const MOST_EVENT_BYTES = 1_048_576

export interface MemoriesParts extends MemoryTools {
  readonly store: Store
  readonly log: Log
}

/** What a job goes on from: its memory, and what its history says. */
export interface LoadedMemory {
  readonly memory: JobMemory
  readonly told: Told
}

/** A memory that is read before it is needed. */
interface MemoryLoad {
  readonly done: Promise<void>
  /** The last event of the job when the reading began. */
  readonly sequence: number
  /** Null until the memory is read, and where it cannot be read. */
  read: LoadedMemory | null
  users: number
}

export class Memories {
  readonly #parts: MemoriesParts
  readonly #slices: TimeSlices
  /** By job. */
  readonly #readings = new Map<number, MemoryLoad>()

  constructor(parts: MemoriesParts, slices: TimeSlices) {
    this.#parts = parts
    this.#slices = slices
  }

  /** Whether reading the memory takes long. False where the database cannot be read: the read itself fails with the reason. */
  isLarge({ key }: Pick<JobTable, 'key'>): boolean {
    return this.#isTrue((tx) => hasSpilledValues(tx, key) || hasPagesBeyond(tx, key, MOST_PAGES, MOST_BYTES))
  }

  /** Whether reading what the history says takes long, however small the memory is. */
  #hasLongHistory({ key }: JobTable): boolean {
    return this.#isTrue((tx) => hasEventsBeyond(tx, key, MOST_EVENTS, MOST_EVENT_BYTES))
  }

  /** False also where the database cannot be read. */
  #isTrue(test: (tx: Tx) => boolean): boolean {
    try {
      return this.#parts.store.read(test)
    } catch {
      return false
    }
  }

  /**
   * Reads a large memory, or one whose job has a long history, for `take`, and keeps it until the result is disposed of; null where both are small. It
   * does not reject: what cannot be read now is read again when it is needed.
   */
  prepare(row: JobTable): Promise<Disposable> | null {
    const reading = this.#readings.get(row.key) ?? this.#begin(row)
    if (!reading) return null
    reading.users++
    return reading.done.then(() => ({ [Symbol.dispose]: () => this.#leave(row.key, reading) }))
  }

  #begin(row: JobTable): MemoryLoad | null {
    if (!this.isLarge(row) && !this.#hasLongHistory(row)) return null
    const reading: MemoryLoad = {
      done: this.#slices.run(userKey(row), this.#readSteps(row)).then(
        (read) => {
          reading.read = read
        },
        () => {},
      ),
      sequence: row.last_sequence,
      read: null,
      users: 0,
    }
    this.#readings.set(row.key, reading)
    return reading
  }

  #leave(job_key: number, reading: MemoryLoad): void {
    if (--reading.users === 0) this.#forget(job_key, reading)
  }

  #forget(job_key: number, reading: MemoryLoad): void {
    reading.read = null
    if (this.#readings.get(job_key) === reading) this.#readings.delete(job_key)
  }

  /** What `prepare` read, if it is still all that is stored; else null. The caller owns it: a second call gives null. */
  take({ key, last_sequence }: JobTable): LoadedMemory | null {
    const reading = this.#readings.get(key)
    const read = reading?.read ?? null
    if (!reading || !read) return null
    this.#forget(key, reading)
    const isWhole = reading.sequence === last_sequence && this.#isTrue((tx) => read.memory.isWhole(tx))
    return isWhole ? read : null
  }

  /** What a stored job remembers, read at once; empty where that is missing or damaged. @throws SERVICE_UNAVAILABLE where it cannot be read now */
  of(row: JobTable): JobMemory {
    try {
      const memory = finish(this.#load(row))
      if (memory) return memory
      this.#parts.log.error({ job_id: row.id }, 'what a job needs to go on is not stored')
    } catch (err) {
      this.#unreadable(row, err)
    }
    return JobMemory.unreadable(this.#parts, row.key)
  }

  *#readSteps(row: JobTable): Steps<LoadedMemory | null> {
    const memory = yield* this.#load(row)
    return memory && { memory, told: yield* Told.steps(this.#parts.store, row.key) }
  }

  #load({ key }: JobTable): Steps<JobMemory | null> {
    return JobMemory.loadSteps(this.#parts.store, this.#parts, key)
  }

  #unreadable({ id }: JobTable, err: unknown): void {
    const momentary = momentaryFault(err)
    if (momentary) throw momentary
    this.#parts.log.error({ err, job_id: id }, 'what a job needs to go on cannot be read')
  }

  /**
   * What the firings of a stored job wait for, by their names; empty where that is missing or damaged.
   * @throws SERVICE_UNAVAILABLE where it cannot be read now
   */
  async requests(row: JobTable): Promise<ReadonlyMap<string, WaitRequest>> {
    const steps = waitRequests(this.#parts.store, this.#parts, row.key)
    try {
      return this.isLarge(row) ? await this.#slices.run(userKey(row), steps) : finish(steps)
    } catch (err) {
      this.#unreadable(row, err)
      return new Map()
    }
  }
}
