// The contents that may be found under one key. An acknowledged write happens between its begin and its answer. An interrupted write
// happens between its begin and the end of the server, or never. An acknowledged write replaces everything that ended before it began.
import type { Content } from './content.ts'

export interface Write {
  readonly value: Content | null
  readonly from: number
  /** Infinite while the write is under way. */
  to: number
  acknowledged: boolean
}

export class Register {
  readonly key: string
  /** Whether the content expires after a day. */
  readonly passing: boolean
  /** Whether a write was ever begun. */
  touched = false
  readonly #tick: () => number
  #writes: readonly Write[]

  /** `tick` returns a greater number at each call, over all registers of a run. */
  constructor(key: string, tick: () => number, passing = false) {
    this.key = key
    this.passing = passing
    this.#tick = tick
    this.#writes = [{ value: null, from: tick(), to: tick(), acknowledged: true }]
  }

  /** Records the begin of a write; null stands for a removal. */
  begin(value: Content | null): Write {
    this.touched = true
    const write = { value, from: this.#tick(), to: Number.POSITIVE_INFINITY, acknowledged: false }
    this.#writes = [...this.#writes, write]
    return write
  }

  /** Records that the write was acknowledged, or was interrupted for good. */
  end(write: Write, acknowledged: boolean): void {
    write.to = this.#tick()
    write.acknowledged = acknowledged
  }

  /** Returns the contents that a read from `since` until now may find, without those of `except`. */
  possible(since: number, except?: Write): (Content | null)[] {
    const before = this.#writes.filter(({ acknowledged, to }) => acknowledged && to < since)
    const last = this.#writes.filter((one) => one !== except && !before.some(({ from }) => from > one.to))
    return [...new Set(last.map(({ value }) => value))]
  }

  /** Records a found content while nothing is under way. All interrupted writes have happened before it, or never will. */
  settle(value: Content | null): void {
    this.#writes = [{ value, from: this.#tick(), to: this.#tick(), acknowledged: true }]
  }
}
