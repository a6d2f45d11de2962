// The workflows that one firing calls, while it waits for them: their numbers, and whether the firing can go on before one of them does.
import type { HaltableWait } from '../workflow-call.ts'

export class FiringCalls {
  /** The calls under way, and whether each can go on by itself no more than its own firings can. */
  readonly #openCalls = new Map<HaltableWait, boolean>()
  readonly #onWaitingChanged: (still: boolean) => void
  #count: number
  isWaiting = false
  #isDropped = false

  /** `turned` hears when the firing begins to wait for nothing but its calls, and when it goes on. `made`: how many it made before. */
  constructor(onWaitingChanged: (still: boolean) => void, made: number) {
    this.#onWaitingChanged = onWaitingChanged
    this.#count = made
  }

  /** Whether it waits for nothing but calls, and nothing of them goes on either. */
  get isQuiescent(): boolean {
    return this.isWaiting && [...this.#openCalls.keys()].every(({ isQuiescent: resting }) => resting)
  }

  get count(): number {
    return this.#count
  }

  /** The number of the next call, counted from 0. */
  nextNumber(): number {
    return this.#count++
  }

  /** `still`: the call waits, for its place or for the called run. */
  setWaiting(call: HaltableWait, still: boolean): void {
    this.#openCalls.set(call, still)
    this.#updateWaiting()
  }

  remove(call: HaltableWait): void {
    this.#openCalls.delete(call)
    this.#updateWaiting()
  }

  /** Nobody wants the firing any more, nor what it called. */
  drop(): void {
    this.#setWaiting(false)
    this.#isDropped = true
    for (const call of [...this.#openCalls.keys()]) {
      call.halt()
      call.wake()
    }
  }

  #updateWaiting(): void {
    this.#setWaiting(this.#openCalls.size > 0 && [...this.#openCalls.values()].every((still) => still))
  }

  #setWaiting(still: boolean): void {
    if (this.#isDropped || still === this.isWaiting) return
    this.isWaiting = still
    this.#onWaitingChanged(still)
  }
}
