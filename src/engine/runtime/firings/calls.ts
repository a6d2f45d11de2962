// The workflow calls of one firing: their numbers, and whether the firing can continue before one of them does.
import type { HaltableWait } from '../workflow-call.ts'

export class FiringCalls {
  /** The calls in progress, each with whether it waits. */
  readonly #openCalls = new Map<HaltableWait, boolean>()
  readonly #onWaitingChanged: (still: boolean) => void
  #count: number
  isWaiting = false
  #isDropped = false

  /** `onWaitingChanged` is called when the firing starts or stops waiting only for its calls. `made`: the number of earlier calls. */
  constructor(onWaitingChanged: (still: boolean) => void, made: number) {
    this.#onWaitingChanged = onWaitingChanged
    this.#count = made
  }

  /** Whether the firing waits only for calls, none of which can continue. */
  get isQuiescent(): boolean {
    return this.isWaiting && [...this.#openCalls.keys()].every(({ isQuiescent }) => isQuiescent)
  }

  get count(): number {
    return this.#count
  }

  /** The number of the next call, counted from 0. */
  nextNumber(): number {
    return this.#count++
  }

  /** `still`: the call waits for its permit or for the called run. */
  setWaiting(call: HaltableWait, still: boolean): void {
    this.#openCalls.set(call, still)
    this.#updateWaiting()
  }

  remove(call: HaltableWait): void {
    this.#openCalls.delete(call)
    this.#updateWaiting()
  }

  /** Halts all calls, as no consumer wants the firing any more. */
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
