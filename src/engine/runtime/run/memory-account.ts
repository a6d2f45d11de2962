// How much a run holds at once, the workflows that it calls included: values on its edges, results that wait for their turn, what
// aggregates gather, outputs, and the plans of what it calls. Beyond its limit the run ends.

import type { OutputValues } from '../../node-api/node-type.ts'
import { estimateMemory, estimateSize } from '../../node-api/values/measure.ts'
import { FailureToken } from '../streams/tokens.ts'

/** Bytes of memory for each unit: one character of a text, at the most. */
const BYTES_PER_UNIT = 2

/** A list or dict of this size is counted once, on however many edges it lies. */
const LARGE_VALUE_SIZE = 10_000

/** Of how many bytes more, or less, the memory that all runs share is told at once: small runs never ask for it. */
const REPORTED_BYTES = 1_048_576

/** The run that ends when too much is held. */
interface MemoryHolder {
  /** Called once. Null: all runs of its owner together hold too much. */
  onMemoryExceeded(limit_bytes: number | null): void
}

/** The memory that all runs of the process share. */
export interface ProcessMemoryAccount {
  /** An owner's runs hold so many bytes more, or less. False: there is no room for more, and nothing was taken. */
  change(owner: string, bytes: number): boolean
}

/** Whose run it is, and what it shares with others. */
export interface OwnerMemoryShare {
  readonly owner: string
  readonly account: ProcessMemoryAccount
}

/** What a run and the workflows that it calls may hold together. */
export class MemoryBudget {
  readonly limit_bytes: number
  readonly #share: OwnerMemoryShare | null
  #heldSize = 0
  /** Bytes that the share was told of: none, or at least TOLD_BYTES. */
  #reportedBytes = 0
  /** An object, not a function: with a function that refers to the run, V8 moved the objects of each finished run to its old generation (measured). */
  holder: MemoryHolder | null = null

  constructor(limit_bytes: number, share: OwnerMemoryShare | null = null) {
    this.limit_bytes = limit_bytes
    this.#share = share
  }

  add(size: number): void {
    this.#heldSize += size
    const bytes = this.#heldSize * BYTES_PER_UNIT
    if (bytes > this.limit_bytes) this.#reportExceeded(this.limit_bytes)
    const change = bytes - this.#reportedBytes
    if (change >= REPORTED_BYTES || change <= -REPORTED_BYTES) this.#report(bytes)
  }

  addBytes(bytes: number): void {
    this.add(bytes / BYTES_PER_UNIT)
  }

  #report(bytes: number): void {
    if (!this.#share) return
    const { account: of, owner } = this.#share
    const reported = bytes < REPORTED_BYTES ? 0 : bytes
    if (of.change(owner, reported - this.#reportedBytes)) this.#reportedBytes = reported
    else this.#reportExceeded(null)
  }

  #reportExceeded(limit_bytes: number | null): void {
    const { holder } = this
    this.holder = null
    holder?.onMemoryExceeded(limit_bytes)
  }
}

/** What one run holds of the budget. */
export class RunMemoryAccount {
  readonly #budget: MemoryBudget
  /** How often each large value is held. */
  readonly #largeValues = new Map<object, number>()
  #size = 0

  constructor(budget: MemoryBudget) {
    this.#budget = budget
  }

  /** So much more is held, or less. */
  change(size: number): void {
    this.#size += size
    this.#budget.add(size)
  }

  changeBytes(bytes: number): void {
    this.change(bytes / BYTES_PER_UNIT)
  }

  /** `size` is that of the value. */
  add(value: unknown, size: number): void {
    if (size >= LARGE_VALUE_SIZE && typeof value === 'object' && value !== null) {
      const times = this.#largeValues.get(value) ?? 0
      this.#largeValues.set(value, times + 1)
      if (times > 0) return
    }
    this.change(size)
  }

  remove(value: unknown, size: number): void {
    if (size >= LARGE_VALUE_SIZE && typeof value === 'object' && value !== null) {
      const times = this.#largeValues.get(value) ?? 0
      if (times > 1) {
        this.#largeValues.set(value, times - 1)
        return
      }
      this.#largeValues.delete(value)
    }
    this.change(-size)
  }

  addResult(result: OutputValues | FailureToken | null): void {
    if (result && !(result instanceof FailureToken))
      for (const name in result) this.add(result[name], estimateWeight(result[name]))
  }

  removeResult(result: OutputValues | FailureToken | null): void {
    if (result && !(result instanceof FailureToken))
      for (const name in result) this.remove(result[name], estimateWeight(result[name]))
  }

  /** The run is over and holds nothing more. */
  close(): void {
    this.#largeValues.clear()
    this.change(-this.#size)
  }
}

/** What a value counts: numbers nothing, as their number is limited. */
export function estimateWeight(value: unknown): number {
  if (typeof value === 'string') return value.length
  return typeof value === 'object' && value !== null ? estimateContainerWeight(value) : 0
}

/** What a value counts that is kept with very many others. */
export function estimateWeightAmongMany(value: unknown): number {
  return typeof value === 'object' && value !== null ? estimateContainerWeight(value) : estimateSize(value)
}

/** What is too deep or has too many keys is refused wherever it goes, and counts nothing until then. */
function estimateContainerWeight(container: object): number {
  return Math.ceil(estimateMemory(container) / BYTES_PER_UNIT)
}
