// Counts the memory held by a run and the workflows that it calls: values on edges, waiting results, items of aggregates, outputs, and
// called plans. The run fails when it exceeds its limit.

import type { OutputValues } from '../../node-api/firing-forms.ts'
import { estimateMemory, estimateSize } from '../../node-api/values/measure.ts'
import { FailureToken } from '../streams/tokens.ts'

/** Bytes per unit: the maximum for one character of a text. */
const BYTES_PER_UNIT = 2

/** A list or dict of this size is counted once, on however many edges it lies. */
const LARGE_VALUE_SIZE = 10_000

/** Changes are reported to the shared account in steps of this size: small runs never use it. */
const REPORTED_BYTES = 1_048_576

/** The run that fails when the limit is exceeded. */
interface MemoryHolder {
  /** Called once. Null: the limit of all runs of the owner is exceeded. */
  onMemoryExceeded(limit_bytes: number | null): void
}

/** The memory account shared by all runs of the process. */
export interface ProcessMemoryAccount {
  /** Changes the bytes held by an owner's runs. False: there is no room, and nothing was changed. */
  change(owner: string, bytes: number): boolean
}

/** The owner of a run, and the account that it shares with other runs. */
export interface OwnerMemoryShare {
  readonly owner: string
  readonly account: ProcessMemoryAccount
}

/** The memory limit of a run together with the workflows that it calls. */
export class MemoryBudget {
  readonly limit_bytes: number
  readonly #share: OwnerMemoryShare | null
  #heldSize = 0
  /** Bytes reported to the shared account: 0, or at least REPORTED_BYTES. */
  #reportedBytes = 0
  /** An object instead of a function: a function that refers to the run made V8 move each finished run's objects to its old generation (measured). */
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
    const { account, owner } = this.#share
    const reported = bytes < REPORTED_BYTES ? 0 : bytes
    if (account.change(owner, reported - this.#reportedBytes)) this.#reportedBytes = reported
    else this.#reportExceeded(null)
  }

  #reportExceeded(limit_bytes: number | null): void {
    const { holder } = this
    this.holder = null
    holder?.onMemoryExceeded(limit_bytes)
  }
}

/** The part of the budget held by one run. */
export class RunMemoryAccount {
  readonly #budget: MemoryBudget
  /** How often each large value is held. */
  readonly #largeValues = new Map<object, number>()
  #size = 0

  constructor(budget: MemoryBudget) {
    this.#budget = budget
  }

  /** Adds `size`, which may be negative. */
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

  /** Releases everything when the run is over. */
  close(): void {
    this.#largeValues.clear()
    this.change(-this.#size)
  }
}

/** The weight of a value. Numbers weigh nothing, as their count is limited. */
export function estimateWeight(value: unknown): number {
  if (typeof value === 'string') return value.length
  return typeof value === 'object' && value !== null ? estimateContainerWeight(value) : 0
}

/** The weight of a value that is kept among very many others. */
export function estimateWeightAmongMany(value: unknown): number {
  return typeof value === 'object' && value !== null ? estimateContainerWeight(value) : estimateSize(value)
}

/** A value that is too deep or has too many keys is refused later, and weighs nothing until then. */
function estimateContainerWeight(container: object): number {
  return Math.ceil(estimateMemory(container) / BYTES_PER_UNIT)
}
