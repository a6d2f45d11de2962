// One call of a workflow by another: waits for its permit and its turn, and stops with its caller.

import { NodeError } from '../node-api/node-error.ts'
import type { RunOutcome } from './run/observer.ts'
import type { RunResources } from './run/resources.ts'
import type { TimeSlice } from './time-slice.ts'

/** Work that stops as soon as its run stops. */
export interface Haltable {
  /** Begins nothing more; work in flight settles. */
  halt(): void
  /** Whether nothing in it can continue by itself: it waits for an outside event, or for its permit. */
  readonly isQuiescent: boolean
}

/** Work that may be waiting when it is halted. */
export interface HaltableWait extends Haltable {
  /** Called after `halt`: the event that it waits for will not come, so it ends. */
  wake(): void
}

/** Halts all calls. Waiting calls end in time slices, as there may be very many. */
export function haltCalls(openCalls: ReadonlySet<HaltableWait>, timeSlice: TimeSlice): void {
  const calls = [...openCalls]
  for (const call of calls) call.halt()
  void wakeCalls(calls, timeSlice)
}

/** The work of each woken call falls between two turns, and counts. */
async function wakeCalls(calls: readonly HaltableWait[], timeSlice: TimeSlice): Promise<void> {
  for (const call of calls) {
    await timeSlice.waitForTurn()
    call.wake()
  }
}

/** A run, as seen by its call. */
interface CalledRun extends Haltable {
  start(): void
  readonly done: Promise<RunOutcome>
}

export class WorkflowCall implements HaltableWait {
  readonly #resources: RunResources
  readonly #depth: number
  readonly #onWaitingChanged: (still: boolean) => void
  readonly #ready = Promise.withResolvers<void>()
  readonly #onPermit = (): void => {
    this.#hasPermit = true
    this.#onWaitingChanged(false)
    this.#ready.resolve()
  }
  #hasPermit = false
  #isHalted = false
  #run: CalledRun | null = null

  /** `onWaitingChanged` is called when it starts or stops waiting for its permit or for the called run. */
  constructor(resources: RunResources, depth: number, onWaitingChanged: (still: boolean) => void) {
    this.#resources = resources
    this.#depth = depth
    this.#onWaitingChanged = onWaitingChanged
  }

  /** Only used while the call waits: without a run, it waits for its permit. */
  get isQuiescent(): boolean {
    return this.#run?.isQuiescent ?? true
  }

  halt(): void {
    this.#isHalted = true
    this.#resources.callLimiter.cancel(this.#depth, this.#onPermit)
    this.#run?.halt()
  }

  wake(): void {
    this.#ready.resolve()
  }

  /** Does the work with a permit of its depth. @throws NodeError `cancelled` if the caller stopped before it began */
  async withPermit<T>(work: () => Promise<T>): Promise<T> {
    this.#resources.callLimiter.acquire(this.#depth, this.#onPermit)
    if (!this.#hasPermit) this.#onWaitingChanged(true)
    await this.#ready.promise
    try {
      // Very many calls may be halted at the same moment.
      await this.#resources.timeSlice.waitForTurn()
      if (this.#isHalted) throw new NodeError('The run has stopped.', 'cancelled')
      return await work()
    } finally {
      if (this.#hasPermit) this.#resources.callLimiter.release(this.#depth)
    }
  }

  /** Runs the called run to its end. */
  async runToEnd(run: CalledRun): Promise<RunOutcome> {
    if (this.#isHalted) return { status: 'cancelled' }
    this.#run = run
    this.#onWaitingChanged(true)
    run.start()
    const outcome = await run.done
    this.#onWaitingChanged(false)
    await this.#resources.timeSlice.waitForTurn()
    return outcome
  }
}
