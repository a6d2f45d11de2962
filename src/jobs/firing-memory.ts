// How much memory it takes what jobs remember of their firings. It counts with what runs hold, until the run has taken it over or the job is gone.
import { measured, memorySteps } from '../engine/measure.ts'
import { ServiceError } from '../errors.ts'
import { isLight } from '../light-parts.ts'
import { NoRoom } from '../payloads/memory-account.ts'
import type { Steps } from '../time-slices.ts'
import type { Entry } from './entry.ts'

/** Of how many bytes more, or less, the account is told at once: small memories never ask for it. */
const TOLD_BYTES = 1_048_576

// Bytes of memory, measured: what a firing takes besides its name and values, and an entry besides its value.
const FIRING = 200
const ENTRY = 16
const STEP = 128

const TOO_MUCH =
  'The job remembers more than the server has memory for: run it anew, or start the server with more memory.'

/** CONFLICT: a job remembers more than its owner's jobs may ever hold. */
export class TooMuchRemembered extends ServiceError {
  constructor() {
    super('CONFLICT', { message: TOO_MUCH })
  }
}

/** The memory that all runs of the process share, as remembered firings count in it. */
export interface FiringAccount {
  /** How many bytes one owner may hold at the most, while nobody else holds any. */
  readonly largest: number
  /** An owner holds so many bytes more, or less. False: there is no room for more, and nothing was taken. */
  change(owner: string, bytes: number): boolean
}

/** An entry about a firing. */
type FiringEntry = Extract<
  Entry,
  readonly ['start' | 'attempt' | 'step' | 'done' | 'item' | 'end' | 'wait' | 'answer', ...unknown[]]
>

const OF_FIRINGS: ReadonlySet<Entry[0]> = new Set<FiringEntry[0]>([
  'start',
  'attempt',
  'step',
  'done',
  'item',
  'end',
  'wait',
  'answer',
])

export function isOfFiring(entry: Entry): entry is FiringEntry {
  return OF_FIRINGS.has(entry[0])
}

/** About how many bytes a firing takes, whatever is known of it. */
export function firingBytes(firing: string): number {
  return FIRING + firing.length
}

/** About how many bytes an entry takes in what is known of its firing. */
export function entryBytes(entry: FiringEntry): number {
  if (entry[0] === 'start') return 0
  return ENTRY + measured(entry.at(-1)).memory + (entry[0] === 'step' ? STEP + entry[2].length : 0)
}

/** Measures what is large of an entry, so that `entryBytes` need not look into it; null: nothing is. */
export function measuring(entry: Entry): Steps<unknown> | null {
  const value: unknown = entry.at(-1)
  return typeof value === 'object' && value !== null && !isLight(value) ? memorySteps(value) : null
}

/** What the memory of one job takes of the account. */
export class FiringMemory {
  readonly #account: FiringAccount
  readonly #owner: string
  #used = 0
  #most = 0
  /** Bytes that the account was told of. */
  #told = 0

  constructor(account: FiringAccount, owner: string) {
    this.#account = account
    this.#owner = owner
  }

  /** How many bytes it has come to at the most. */
  get most(): number {
    return this.#most
  }

  /** Takes so many bytes before they are used. @throws NoRoom */
  reserve(bytes: number): void {
    if (bytes > this.#told) this.#tell(bytes)
  }

  /** @throws NoRoom where there is none now; TooMuchRemembered where there never is so much */
  take(bytes: number): void {
    this.#used += bytes
    this.#most = Math.max(this.#most, this.#used)
    if (this.#used > this.#account.largest) throw new TooMuchRemembered()
    if (this.#used - this.#told >= TOLD_BYTES) this.#tell(this.#used)
  }

  give(bytes: number): void {
    this.#used = Math.max(this.#used - bytes, 0)
    if (this.#told - this.#used >= TOLD_BYTES) this.settle()
  }

  /** Gives back what was reserved and is not used. */
  settle(): void {
    this.#tell(this.#used < TOLD_BYTES ? 0 : Math.min(this.#used, this.#told))
  }

  /** Gives all back. */
  release(): void {
    this.#used = 0
    this.#tell(0)
  }

  #tell(bytes: number): void {
    if (!this.#account.change(this.#owner, bytes - this.#told)) throw new NoRoom()
    this.#told = bytes
  }
}
