// How much a run holds at once, the workflows that it calls included: values on its edges, results that wait for their turn, what
// aggregates gather, outputs, and the plans of what it calls. Beyond its limit the run ends.

import { memoryOf, sizeOf } from './measure.ts'
import type { Outputs } from './node-type.ts'
import { Failure } from './tokens.ts'

/** Bytes of memory for each unit: one character of a text, at the most. */
const BYTES = 2

/** A list or dict of this size is counted once, on however many edges it lies. */
const LARGE = 10_000

/** Of how many bytes more, or less, the memory that all runs share is told at once: small runs never ask for it. */
const TOLD_BYTES = 1_048_576

/** The run that ends when too much is held. */
interface Holder {
  /** Called once. Null: all runs of its owner together hold too much. */
  outgrow(limit_bytes: number | null): void
}

/** The memory that all runs of the process share. */
export interface SharedMemory {
  /** An owner's runs hold so many bytes more, or less. False: there is no room for more, and nothing was taken. */
  change(owner: string, bytes: number): boolean
}

/** Whose run it is, and what it shares with others. */
export interface MemoryShare {
  readonly owner: string
  readonly of: SharedMemory
}

/** What a run and the workflows that it calls may hold together. */
export class MemoryBudget {
  readonly limit_bytes: number
  readonly #share: MemoryShare | null
  #held = 0
  /** Bytes that the share was told of: none, or at least TOLD_BYTES. */
  #told = 0
  /** An object, not a function: with a function that refers to the run, V8 moved the objects of each finished run to its old generation (measured). */
  holder: Holder | null = null

  constructor(limit_bytes: number, share: MemoryShare | null = null) {
    this.limit_bytes = limit_bytes
    this.#share = share
  }

  add(size: number): void {
    this.#held += size
    const bytes = this.#held * BYTES
    if (bytes > this.limit_bytes) this.#outgrow(this.limit_bytes)
    const change = bytes - this.#told
    if (change >= TOLD_BYTES || change <= -TOLD_BYTES) this.#tell(bytes)
  }

  addBytes(bytes: number): void {
    this.add(bytes / BYTES)
  }

  #tell(bytes: number): void {
    if (!this.#share) return
    const { of, owner } = this.#share
    const telling = bytes < TOLD_BYTES ? 0 : bytes
    if (of.change(owner, telling - this.#told)) this.#told = telling
    else this.#outgrow(null)
  }

  #outgrow(limit_bytes: number | null): void {
    const { holder } = this
    this.holder = null
    holder?.outgrow(limit_bytes)
  }
}

/** What one run holds of the budget. */
export class HeldValues {
  readonly #budget: MemoryBudget
  /** How often each large value is held. */
  readonly #large = new Map<object, number>()
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
    this.change(bytes / BYTES)
  }

  /** `size` is that of the value. */
  add(value: unknown, size: number): void {
    if (size >= LARGE && typeof value === 'object' && value !== null) {
      const times = this.#large.get(value) ?? 0
      this.#large.set(value, times + 1)
      if (times > 0) return
    }
    this.change(size)
  }

  remove(value: unknown, size: number): void {
    if (size >= LARGE && typeof value === 'object' && value !== null) {
      const times = this.#large.get(value) ?? 0
      if (times > 1) {
        this.#large.set(value, times - 1)
        return
      }
      this.#large.delete(value)
    }
    this.change(-size)
  }

  addResult(result: Outputs | Failure | null): void {
    if (result && !(result instanceof Failure))
      for (const name in result) this.add(result[name], weightOf(result[name]))
  }

  removeResult(result: Outputs | Failure | null): void {
    if (result && !(result instanceof Failure))
      for (const name in result) this.remove(result[name], weightOf(result[name]))
  }

  /** The run is over and holds nothing more. */
  close(): void {
    this.#large.clear()
    this.change(-this.#size)
  }
}

/** What a value counts: numbers nothing, as their number is limited. */
export function weightOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  return typeof value === 'object' && value !== null ? weightOfContainer(value) : 0
}

/** What a value counts that is kept with very many others. */
export function weightAmongMany(value: unknown): number {
  return typeof value === 'object' && value !== null ? weightOfContainer(value) : sizeOf(value)
}

/** What is too deep or has too many keys is refused wherever it goes, and counts nothing until then. */
function weightOfContainer(container: object): number {
  return Math.ceil(memoryOf(container) / BYTES)
}
