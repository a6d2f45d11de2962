// Reads what stored jobs remember. A small memory is read when it is needed. A large one is read before, in time slices of the job's owner.
import { hasEventsBeyond } from '../db/job-events.ts'
import { hasPagesBeyond } from '../db/job-journal.ts'
import type { JobTable } from '../db/schema.ts'
import { type Scope, userKey } from '../db/scope.ts'
import { hasSpilledValues } from '../db/spilled-values.ts'
import type { Store, Tx } from '../db/store.ts'
import type { WaitRequest } from '../engine/journal.ts'
import type { Log } from '../log.ts'
import { NoRoom } from '../payloads/memory-account.ts'
import { finish, type Steps, type TimeSlices } from '../time-slices.ts'
import { type FiringAccount, FiringMemory, TooMuchRemembered } from './firing-memory.ts'
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

/** What a job is told that ends because of that. */
export const UNREADABLE = 'What the job needs to go on cannot be read.'

export interface MemoriesParts extends MemoryTools {
  readonly store: Store
  readonly log: Log
  /** Where what is remembered of firings counts. */
  readonly shared_memory: FiringAccount
}

/** What a job goes on from: its memory, and what its history says. */
export interface LoadedMemory {
  readonly memory: JobMemory
  /** Null where nobody needs it: the memory cannot be known. */
  readonly told: Told | null
}

/** A memory that is read before it is needed. */
interface MemoryLoad {
  readonly done: Promise<void>
  /** The last event of the job when the reading began. */
  readonly sequence: number
  /** Null until the memory is read, and where it cannot be read. */
  read: LoadedMemory | null
  /** There is no room for it now. */
  refused: NoRoom | null
  users: number
}

export class Memories {
  readonly #parts: MemoriesParts
  readonly #slices: TimeSlices
  /** By job. */
  readonly #readings = new Map<number, MemoryLoad>()
  /** By job for which there was no room, how many bytes it had come to: there is to be room for them before it is read again. */
  readonly #refused = new Map<number, number>()

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
   * Reads a large memory, or one whose job has a long history, for `take`, and keeps it until the result is disposed of; null where both are small. What
   * cannot be read now is read again when it is needed. It rejects with NoRoom alone.
   */
  prepare(row: JobTable): Promise<Disposable> | null {
    const reading = this.#readings.get(row.key) ?? this.#begin(row)
    if (!reading) return null
    reading.users++
    return reading.done.then(() => {
      if (reading.refused === null) return { [Symbol.dispose]: () => this.#leave(row.key, reading) }
      this.#leave(row.key, reading)
      throw reading.refused
    })
  }

  #begin(row: JobTable): MemoryLoad | null {
    if (!this.isLarge(row) && !this.#hasLongHistory(row)) return null
    const reading: MemoryLoad = {
      done: this.#slices.run(userKey(row), this.#readSteps(row)).then(
        (read) => {
          reading.read = read
        },
        (error) => {
          if (error instanceof NoRoom) reading.refused = error
        },
      ),
      sequence: row.last_sequence,
      read: null,
      refused: null,
      users: 0,
    }
    this.#readings.set(row.key, reading)
    return reading
  }

  #leave(job_key: number, reading: MemoryLoad): void {
    if (--reading.users === 0) this.#forget(job_key, reading)
  }

  #forget(job_key: number, reading: MemoryLoad): void {
    reading.read?.memory.letGo()
    this.#remove(job_key, reading)
  }

  #remove(job_key: number, reading: MemoryLoad): void {
    reading.read = null
    if (this.#readings.get(job_key) === reading) this.#readings.delete(job_key)
  }

  /** What `prepare` read, if it is still all that is stored; else null. The caller owns it: a second call gives null. */
  take({ key, last_sequence }: JobTable): LoadedMemory | null {
    const reading = this.#readings.get(key)
    const read = reading?.read ?? null
    if (!reading || !read) return null
    this.#remove(key, reading)
    const isWhole = reading.sequence === last_sequence && this.#isTrue((tx) => read.memory.isWhole(tx))
    if (isWhole) return read
    read.memory.letGo()
    return null
  }

  /**
   * What a stored job remembers, read at once; empty where that is missing or damaged, or is too much.
   * @throws SERVICE_UNAVAILABLE where it cannot be read now, NoRoom
   */
  of(row: JobTable): JobMemory {
    try {
      const memory = finish(this.loadSteps(row))
      if (memory) return memory
      this.#parts.log.error({ job_id: row.id }, 'what a job needs to go on is not stored')
    } catch (err) {
      this.#unreadable(row, err)
      if (err instanceof TooMuchRemembered) return this.#tooMuch(row, err)
    }
    return JobMemory.unreadable(this.#parts, row.key, UNREADABLE)
  }

  #tooMuch({ key }: JobTable, { message }: TooMuchRemembered): JobMemory {
    return JobMemory.unreadable(this.#parts, key, message)
  }

  *#readSteps(row: JobTable): Steps<LoadedMemory | null> {
    try {
      const memory = yield* this.loadSteps(row)
      return memory && { memory, told: yield* this.#toldSteps(row, memory) }
    } catch (err) {
      if (!(err instanceof TooMuchRemembered)) throw err
      this.#unreadable(row, err)
      return { memory: this.#tooMuch(row, err), told: null }
    }
  }

  *#toldSteps({ key }: JobTable, memory: JobMemory): Steps<Told> {
    try {
      return yield* Told.steps(this.#parts.store, key)
    } catch (error) {
      memory.letGo()
      throw error
    }
  }

  /** What a stored job remembers; null where that is not stored. @throws as `JobMemory.loadSteps` */
  *loadSteps(row: JobTable): Steps<JobMemory | null> {
    const counts = this.countsOf(row)
    try {
      counts.reserve(this.#refused.get(row.key) ?? 0)
      const memory = yield* JobMemory.loadSteps(this.#parts.store, this.#parts, row.key, counts)
      this.#refused.delete(row.key)
      return memory
    } catch (error) {
      if (!(error instanceof NoRoom)) this.#refused.delete(row.key)
      else if (counts.most > 0) this.#refused.set(row.key, counts.most)
      throw error
    }
  }

  /** Where what an owner's job remembers of its firings counts. */
  countsOf(owner: Scope): FiringMemory {
    return new FiringMemory(this.#parts.shared_memory, userKey(owner))
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
