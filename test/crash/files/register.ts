// What may be found under one key. A write that was acknowledged lies between its beginning and its answer; one that was cut off, between its
// beginning and the end of the server, or nowhere. What came wholly before an acknowledged one is gone.
import type { Content } from './content.ts'

export interface Write {
  readonly value: Content | null
  readonly from: number
  /** Infinite while it is under way. */
  to: number
  acknowledged: boolean
}

export class Register {
  readonly key: string
  /** Whether it is gone after a day. */
  readonly passing: boolean
  /** Whether anything was ever written. */
  touched = false
  readonly #tick: () => number
  #writes: readonly Write[]

  /** `tick` gives a greater number each time it is called, to all registers of a run. */
  constructor(key: string, tick: () => number, passing = false) {
    this.key = key
    this.passing = passing
    this.#tick = tick
    this.#writes = [{ value: null, from: tick(), to: tick(), acknowledged: true }]
  }

  /** Something is about to be written, null for a removal. */
  begin(value: Content | null): Write {
    this.touched = true
    const write = { value, from: this.#tick(), to: Number.POSITIVE_INFINITY, acknowledged: false }
    this.#writes = [...this.#writes, write]
    return write
  }

  /** It was acknowledged, or cut off and never will be. */
  end(write: Write, acknowledged: boolean): void {
    write.to = this.#tick()
    write.acknowledged = acknowledged
  }

  /** What a look may find that began at `since` and ends now; what `except` did is left out. */
  possible(since: number, except?: Write): (Content | null)[] {
    const before = this.#writes.filter(({ acknowledged, to }) => acknowledged && to < since)
    const last = this.#writes.filter((one) => one !== except && !before.some(({ from }) => from > one.to))
    return [...new Set(last.map(({ value }) => value))]
  }

  /** Nothing is under way, and this was found: whatever was cut off has happened before it, or never will. */
  settle(value: Content | null): void {
    this.#writes = [{ value, from: this.#tick(), to: this.#tick(), acknowledged: true }]
  }
}
