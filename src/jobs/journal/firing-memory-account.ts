// How much memory it takes what jobs remember of their firings. It counts with what runs hold, until the run has taken it over or the job is gone.
import { estimateMemorySteps, measureValue } from '../../engine/node-api/values/measure.ts'
import { ServiceError } from '../../errors.ts'
import { MemoryUnavailableError } from '../../payloads/fair-memory-account.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { isSmallValue } from '../../shared/value-size.ts'
import type { JournalEntry } from './entry.ts'

/** Of how many bytes more, or less, the account is told at once: small memories never ask for it. */
const REPORTED_BYTES = 1_048_576

// Bytes of memory, measured: what a firing takes besides its name and values, and an entry besides its value.
const FIRING = 200
const ENTRY = 16
const STEP = 128

const TOO_LARGE_MESSAGE =
  'The job remembers more than the server has memory for: run it anew, or start the server with more memory.'

/** CONFLICT: a job remembers more than its owner's jobs may ever hold. */
export class JournalTooLargeError extends ServiceError {
  constructor() {
    super('CONFLICT', { message: TOO_LARGE_MESSAGE })
  }
}

/** The memory that all runs of the process share, as remembered firings count in it. */
export interface FiringMemoryAccount {
  /** How many bytes one owner may hold at the most, while nobody else holds any. */
  readonly largest: number
  /** An owner holds so many bytes more, or less. False: there is no room for more, and nothing was taken. */
  change(owner: string, bytes: number): boolean
}

/** An entry about a firing. */
type FiringEntry = Extract<
  JournalEntry,
  readonly ['start' | 'attempt' | 'step' | 'done' | 'item' | 'end' | 'wait' | 'answer', ...unknown[]]
>

const FIRING_ENTRY_KINDS: ReadonlySet<JournalEntry[0]> = new Set<FiringEntry[0]>([
  'start',
  'attempt',
  'step',
  'done',
  'item',
  'end',
  'wait',
  'answer',
])

export function isFiringEntry(entry: JournalEntry): entry is FiringEntry {
  return FIRING_ENTRY_KINDS.has(entry[0])
}

/** About how many bytes a firing takes, whatever is known of it. */
export function estimateFiringBytes(firing: string): number {
  return FIRING + firing.length
}

/** About how many bytes an entry takes in what is known of its firing. */
export function estimateEntryBytes(entry: FiringEntry): number {
  if (entry[0] === 'start') return 0
  return ENTRY + measureValue(entry.at(-1)).memory + (entry[0] === 'step' ? STEP + entry[2].length : 0)
}

/** Measures what is large of an entry, so that `entryBytes` need not look into it; null: nothing is. */
export function measureEntrySteps(entry: JournalEntry): Steps<unknown> | null {
  const value: unknown = entry.at(-1)
  return typeof value === 'object' && value !== null && !isSmallValue(value) ? estimateMemorySteps(value) : null
}

/** What the memory of one job takes of the account. */
export class FiringMemoryReservation {
  readonly #account: FiringMemoryAccount
  readonly #owner: string
  #used = 0
  #peak = 0
  /** Bytes that the account was told of. */
  #reported = 0

  constructor(account: FiringMemoryAccount, owner: string) {
    this.#account = account
    this.#owner = owner
  }

  /** How many bytes it has come to at the most. */
  get peak(): number {
    return this.#peak
  }

  /** Takes so many bytes before they are used. @throws NoRoom */
  reserve(bytes: number): void {
    if (bytes > this.#reported) this.#report(bytes)
  }

  /** @throws NoRoom where there is none now; TooMuchRemembered where there never is so much */
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

  /** Gives back what was reserved and is not used. */
  settle(): void {
    this.#report(this.#used < REPORTED_BYTES ? 0 : Math.min(this.#used, this.#reported))
  }

  /** Gives all back. */
  release(): void {
    this.#used = 0
    this.#report(0)
  }

  #report(bytes: number): void {
    if (!this.#account.change(this.#owner, bytes - this.#reported)) throw new MemoryUnavailableError()
    this.#reported = bytes
  }
}
