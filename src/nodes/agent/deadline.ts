// The time that is left for a turn of an agent or for its tool calls, as an abort signal. Time that the run spends waiting for people does
// not count. Elapsed time is saved in parts, so that a process that dies loses little of it.
import { readSteadyTime } from '../../engine/node-api/clock.ts'
import type { NodeContext } from '../../engine/node-api/node-context.ts'

/** How often the deadline checks whether the run is waiting. */
const CHECK_INTERVAL_MS = 250
/** At most so many parts of the time are saved, each once it has passed. */
const MOST_SAVED_PARTS = 16

export class AgentDeadline implements Disposable {
  readonly signal: AbortSignal
  readonly #context: NodeContext
  readonly #name: string
  readonly #stop = new AbortController()
  readonly #timeout = new AbortController()
  #suspendedMs = 0
  #savedMs = 0

  /** `name`: the name of the turn, or of its calls. `ms`: null for no limit. */
  constructor(context: NodeContext, name: string, ms: number | null) {
    this.#context = context
    this.#name = name
    this.signal = ms === null ? context.signal : AbortSignal.any([context.signal, this.#timeout.signal])
    if (ms !== null) this.#countDown(Math.max(0, ms)).catch(() => {})
  }

  get isOver(): boolean {
    return this.#timeout.signal.aborted && !this.#context.signal.aborted
  }

  /** Milliseconds that the run has spent waiting so far. */
  get suspendedMs(): number {
    return this.#suspendedMs
  }

  /** Milliseconds that this deadline has saved. */
  get savedMs(): number {
    return this.#savedMs
  }

  async #countDown(ms: number): Promise<void> {
    const { clock, signal } = this.#context
    const until = AbortSignal.any([signal, this.#stop.signal])
    let unsavedMs = 0
    for (let left = ms; left > 0; ) {
      const begun = readSteadyTime(clock)
      await clock.sleep(Math.min(left, CHECK_INTERVAL_MS), until)
      const passed = readSteadyTime(clock) - begun
      if (this.#context.isQuiescent) {
        this.#suspendedMs += passed
        continue
      }
      left -= passed
      unsavedMs += passed
      if (left <= 0 || unsavedMs < Math.max(CHECK_INTERVAL_MS, ms / MOST_SAVED_PARTS)) continue
      this.#saveTime(unsavedMs)
      unsavedMs = 0
    }
    this.#timeout.abort()
  }

  #saveTime(ms: number): void {
    this.#savedMs += ms
    let free = 0
    while (this.#context.findKept(savedTimeKey(this.#name, free))) free++
    // If the time cannot be saved, the run fails by itself.
    this.#context.keep(savedTimeKey(this.#name, free), ms).catch(() => {})
  }

  [Symbol.dispose](): void {
    this.#stop.abort()
  }
}

/** Milliseconds that are saved for a turn or its calls, by this attempt, earlier attempts and earlier processes. */
export function readSavedTime(context: NodeContext, name: string): number {
  let sum = 0
  for (let at = 0, one = context.findKept(savedTimeKey(name, 0)); one; one = context.findKept(savedTimeKey(name, ++at)))
    sum += one.value as number
  return sum
}

function savedTimeKey(name: string, at: number): string {
  return `time ${name} ${at}`
}
