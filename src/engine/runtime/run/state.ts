// The state of one run: it runs until it fails, is cancelled or suspended, or has nothing left to do; then it settles. The first reason to
// stop is its outcome.

import type { WaitingFiring } from '../../durability/journal.ts'
import type { TimeSlice } from '../time-slice.ts'
import { type HaltableWait, haltCalls } from '../workflow-call.ts'
import type { ObservedNode, RunError, RunObserver, RunOutcome } from './observer.ts'
import type { RunOutputs } from './outputs.ts'

type RunPhase = 'running' | 'failing' | 'cancelling' | 'suspending' | 'settled'

export class RunState {
  /** The calls of workflows, and other waits of firings, that end when the run stops. */
  readonly openCalls = new Set<HaltableWait>()
  readonly #observer: RunObserver
  readonly #timeSlice: TimeSlice
  /** The node to which internal errors are attributed. */
  readonly #anyNode: ObservedNode
  #phase: RunPhase = 'running'
  #error: RunError | null = null
  #waitingFirings: WaitingFiring[] | null = null

  constructor(observer: RunObserver, timeSlice: TimeSlice, anyNode: ObservedNode) {
    this.#observer = observer
    this.#timeSlice = timeSlice
    this.#anyNode = anyNode
  }

  /** True once the run fails, is cancelled or is over: nothing new begins. */
  get stopped(): boolean {
    return this.#phase !== 'running'
  }

  /** True once the run is over: nothing is reported any more. */
  get settled(): boolean {
    return this.#phase === 'settled'
  }

  fail(error: RunError): void {
    if (this.stopped) return
    this.#stop('failing')
    this.#error = error
  }

  cancel(): void {
    if (!this.stopped) this.#stop('cancelling')
  }

  suspend(waiting: WaitingFiring[]): void {
    this.#waitingFirings = waiting
    this.#stop('suspending')
  }

  /** The engine itself, its host or an observer threw: the run cannot continue safely. */
  breakDown(fault: unknown): void {
    this.fail({
      node_id: '',
      type: 'internal_error',
      message: 'The run failed because of an internal error. The log says why.',
    })
    try {
      this.#observer.fault(this.#anyNode, fault, false)
    } catch {
      // The observer failed as well; the outcome still reports the failure.
    }
  }

  haltCalls(): void {
    haltCalls(this.openCalls, this.#timeSlice)
  }

  /** Ends the run. Returns its outcome. */
  settle(outputs: RunOutputs): RunOutcome {
    const outcome = this.#createOutcome(outputs)
    this.#phase = 'settled'
    return outcome
  }

  /** Nothing new begins, in called workflows neither. */
  #stop(phase: 'failing' | 'cancelling' | 'suspending'): void {
    this.#phase = phase
    this.haltCalls()
  }

  #createOutcome(outputs: RunOutputs): RunOutcome {
    if (this.#error) return { status: 'failed', error: this.#error }
    if (this.#waitingFirings) return { status: 'suspended', waiting: this.#waitingFirings }
    if (this.#phase === 'cancelling') return { status: 'cancelled' }
    return { status: 'completed', outputs: outputs.valuesByName }
  }
}
