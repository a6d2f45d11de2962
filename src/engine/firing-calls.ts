// The workflows that one firing calls, while it waits for them: their numbers, and whether the firing can go on before one of them does.
import type { HaltedLater } from './call.ts'

export class FiringCalls {
  /** The calls under way, and whether each can go on by itself no more than its own firings can. */
  readonly #open = new Map<HaltedLater, boolean>()
  readonly #turned: (still: boolean) => void
  #made: number
  still = false
  #left = false

  /** `turned` hears when the firing begins to wait for nothing but its calls, and when it goes on. `made`: how many it made before. */
  constructor(turned: (still: boolean) => void, made: number) {
    this.#turned = turned
    this.#made = made
  }

  /** Whether it waits for nothing but calls, and nothing of them goes on either. */
  get resting(): boolean {
    return this.still && [...this.#open.keys()].every(({ resting }) => resting)
  }

  get made(): number {
    return this.#made
  }

  /** The number of the next call, counted from 0. */
  next(): number {
    return this.#made++
  }

  /** `still`: the call waits, for its place or for the called run. */
  note(call: HaltedLater, still: boolean): void {
    this.#open.set(call, still)
    this.#judge()
  }

  over(call: HaltedLater): void {
    this.#open.delete(call)
    this.#judge()
  }

  /** Nobody wants the firing any more, nor what it called. */
  drop(): void {
    this.#turn(false)
    this.#left = true
    for (const call of [...this.#open.keys()]) {
      call.halt()
      call.wake()
    }
  }

  #judge(): void {
    this.#turn(this.#open.size > 0 && [...this.#open.values()].every((still) => still))
  }

  #turn(still: boolean): void {
    if (this.#left || still === this.still) return
    this.still = still
    this.#turned(still)
  }
}
