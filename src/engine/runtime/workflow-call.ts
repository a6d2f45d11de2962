// One call of a workflow by another: waits for its place and its time, and stops with its caller.

import { NodeError } from '../node-api/node-type.ts'
import type { RunOutcome } from './run/observer.ts'
import type { RunResources } from './run/resources.ts'

/** What stops as soon as the run that it belongs to stops. */
export interface Haltable {
  /** Begins nothing more. What is in flight settles. */
  halt(): void
  /** Whether nothing of it goes on by itself: it waits for something outside of the run, or for its place. */
  readonly isQuiescent: boolean
}

/** What may wait for something when it is halted. */
export interface HaltableWait extends Haltable {
  /** Once it is halted: what it waits for comes no more, and it ends. */
  wake(): void
}

/** A run, as its call sees it. */
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

  /** `waits` hears when it waits for its place or for the called run, and when it goes on. */
  constructor(resources: RunResources, depth: number, onWaitingChanged: (still: boolean) => void) {
    this.#resources = resources
    this.#depth = depth
    this.#onWaitingChanged = onWaitingChanged
  }

  /** Asked while it waits: without a run, that is for its place. */
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

  /** Does the work in a place of its depth. @throws NodeError where the caller stopped before it began. */
  async withPermit<T>(work: () => Promise<T>): Promise<T> {
    this.#resources.callLimiter.acquire(this.#depth, this.#onPermit)
    if (!this.#hasPermit) this.#onWaitingChanged(true)
    await this.#ready.promise
    try {
      // Very many may be halted in the same moment.
      await this.#resources.timeSlice.waitForTurn()
      if (this.#isHalted) throw new NodeError('The run has stopped.', 'cancelled')
      return await work()
    } finally {
      if (this.#hasPermit) this.#resources.callLimiter.release(this.#depth)
    }
  }

  /** Runs it to its end. */
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
