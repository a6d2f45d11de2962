// Counts the memory that the journals of jobs take for their firings. It counts with the memory of runs, until the run has taken over the firings or
// the job has left the process.
import { estimateMemorySteps, measureValue } from '../../engine/node-api/values/measure.ts'
import { ServiceError } from '../../errors.ts'
import { MemoryUnavailableError } from '../../payloads/fair-memory-account.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { isSmallValue } from '../../shared/value-size.ts'
import type { FiringEntry, JournalEntry } from './entry.ts'

/** A reservation reports changes of at least this many bytes. Small journals never ask the account for memory. */
const REPORTED_BYTES = 1_048_576

// Measured bytes of memory: a firing without its name and values, an entry without its value, and a step.
const FIRING = 200
const ENTRY = 16
const STEP = 128

const TOO_LARGE_MESSAGE =
  'The job remembers more than the server has memory for: run it anew, or start the server with more memory.'

/** CONFLICT: the journal of a job takes more memory than the jobs of its owner may ever hold together. */
export class JournalTooLargeError extends ServiceError {
  constructor() {
    super('CONFLICT', { message: TOO_LARGE_MESSAGE })
  }
}

/** The memory account that all runs of the process share. The firings of loaded journals count in it. */
export interface FiringMemoryAccount {
  /** The most bytes that one owner may hold while no other owner holds any. */
  readonly largest: number
  /** Adds `bytes` to what an owner holds; they may be negative. It returns false, and takes nothing, where there is no room for more. */
  change(owner: string, bytes: number): boolean
}

/** Estimates the bytes of a firing without its entries. */
export function estimateFiringBytes(firing: string): number {
  return FIRING + firing.length
}

/** Estimates the bytes that an entry adds to the record of its firing. */
export function estimateEntryBytes(entry: FiringEntry): number {
  if (entry[0] === 'start') return 0
  return ENTRY + measureValue(entry.at(-1)).memory + (entry[0] === 'step' ? STEP + entry[2].length : 0)
}

/** Measures the large value of an entry, so that `estimateEntryBytes` need not walk through the value. It returns null for a small value. */
export function measureEntrySteps(entry: JournalEntry): Steps<unknown> | null {
  const value: unknown = entry.at(-1)
  return typeof value === 'object' && value !== null && !isSmallValue(value) ? estimateMemorySteps(value) : null
}

/** The part of the account that the journal of one job takes. */
export class FiringMemoryReservation {
  readonly #account: FiringMemoryAccount
  readonly #owner: string
  #used = 0
  #peak = 0
  /** Bytes that were reported to the account. */
  #reported = 0

  constructor(account: FiringMemoryAccount, owner: string) {
    this.#account = account
    this.#owner = owner
  }

  /** The most bytes that were in use at one time. */
  get peak(): number {
    return this.#peak
  }

  /** Takes bytes before they are used. @throws MemoryUnavailableError */
  reserve(bytes: number): void {
    if (bytes > this.#reported) this.#report(bytes)
  }

  /** @throws MemoryUnavailableError where there is no room now; JournalTooLargeError where there will never be room for so much */
  take(bytes: number): void {
    this.#used += bytes
    this.#peak = Math.max(this.#peak, this.#used)
    if (this.#used > this.#account.largest) throw new JournalTooLargeError()
    if (this.#used - this.#reported >= REPORTED_BYTES) this.#report(this.#used)
  }

  giveBack(bytes: number): void {
    this.#used = Math.max(this.#used - bytes, 0)
    if (this.#reported - this.#used >= REPORTED_BYTES) this.settle()
  }

  /** Gives back bytes that were reserved and are not used. */
  settle(): void {
    this.#report(this.#used < REPORTED_BYTES ? 0 : Math.min(this.#used, this.#reported))
  }

  release(): void {
    this.#used = 0
    this.#report(0)
  }

  #report(bytes: number): void {
    if (!this.#account.change(this.#owner, bytes - this.#reported)) throw new MemoryUnavailableError()
    this.#reported = bytes
  }
}
