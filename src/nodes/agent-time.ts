// The time that an agent has left for a turn or for its calls, as a signal. Waiting for people counts not, whatever else runs meanwhile. What is
// gone of it is kept as it goes, so that a process that dies takes little of it along.
import { steadyTime } from '../engine/clock.ts'
import type { NodeContext } from '../engine/node-type.ts'

/** How often is looked whether it waits. */
const SLICE_MS = 250
/** So many parts of it are kept at most, each as it is over. */
const MOST_KEPT = 16

export class Deadline implements Disposable {
  readonly signal: AbortSignal
  readonly #context: NodeContext
  readonly #name: string
  readonly #timer = new AbortController()
  readonly #late = new AbortController()
  #rested = 0
  #kept = 0

  /** `name`: that of a turn, or of its calls. `ms`: null for no limit. */
  constructor(context: NodeContext, name: string, ms: number | null) {
    this.#context = context
    this.#name = name
    this.signal = ms === null ? context.signal : AbortSignal.any([context.signal, this.#late.signal])
    if (ms !== null) this.#watch(Math.max(0, ms)).catch(() => {})
  }

  get over(): boolean {
    return this.#late.signal.aborted && !this.#context.signal.aborted
  }

  /** How long it has waited so far, in milliseconds. */
  get rested(): number {
    return this.#rested
  }

  /** How much of the time that passed under it is kept, in milliseconds. */
  get kept(): number {
    return this.#kept
  }

  async #watch(ms: number): Promise<void> {
    const { clock, signal } = this.#context
    const until = AbortSignal.any([signal, this.#timer.signal])
    let gone = 0
    for (let left = ms; left > 0; ) {
      const begun = steadyTime(clock)
      await clock.sleep(Math.min(left, SLICE_MS), until)
      const passed = steadyTime(clock) - begun
      if (this.#context.resting) {
        this.#rested += passed
        continue
      }
      left -= passed
      gone += passed
      if (left <= 0 || gone < Math.max(SLICE_MS, ms / MOST_KEPT)) continue
      this.#keep(gone)
      gone = 0
    }
    this.#late.abort()
  }

  #keep(ms: number): void {
    this.#kept += ms
    let free = 0
    while (this.#context.kept(partOf(this.#name, free))) free++
    // Where it cannot be kept, the run fails by itself.
    this.#context.keep(partOf(this.#name, free), ms).catch(() => {})
  }

  [Symbol.dispose](): void {
    this.#timer.abort()
  }
}

/** How much time is kept of a turn or its calls, in milliseconds: that of attempts and processes before this one, and of this one. */
export function keptTime(context: NodeContext, name: string): number {
  let sum = 0
  for (let at = 0, one = context.kept(partOf(name, 0)); one; one = context.kept(partOf(name, ++at)))
    sum += one.value as number
  return sum
}

function partOf(name: string, at: number): string {
  return `time ${name} ${at}`
}
