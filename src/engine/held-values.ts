// How much a run holds at once, the workflows that it calls included: values on its edges, results that wait for their turn, what
// aggregates gather, and outputs. Beyond its limit the run ends.

import { sizeOf } from './measure.ts'
import type { Outputs } from './node-type.ts'
import { Failure } from './tokens.ts'

/** Bytes of memory for each unit of the size of a value (measure.ts), about. */
const BYTES = 2

/** A list or dict of this size is counted once, on however many edges it lies. */
const LARGE = 10_000

/** The run that ends when too much is held. */
interface Holder {
  /** Called once. */
  outgrow(limit_bytes: number): void
}

/** What a run and the workflows that it calls may hold together. */
export class MemoryBudget {
  readonly limit_bytes: number
  #held = 0
  /** An object, not a function: with a function that refers to the run, V8 moved the objects of each finished run to its old generation (measured). */
  holder: Holder | null = null

  constructor(limit_bytes: number) {
    this.limit_bytes = limit_bytes
  }

  add(size: number): void {
    this.#held += size
    if (this.#held * BYTES <= this.limit_bytes) return
    const { holder } = this
    this.holder = null
    holder?.outgrow(this.limit_bytes)
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
  if (typeof value !== 'object' || value === null) return 0
  const size = sizeOf(value)
  // What is too large to be measured is refused wherever it goes, and counts nothing until then.
  return size < Number.POSITIVE_INFINITY ? size : 0
}
