// One call of a workflow by another: waits for its place and its time, and stops with its caller.
import type { Budget } from './budget.ts'
import { NodeError } from './node-type.ts'
import type { Outcome } from './observer.ts'

/** What stops as soon as the run that it belongs to stops. */
export interface Halting {
  /** Begins nothing more. What is in flight settles. */
  halt(): void
  /** Whether nothing of it goes on by itself: it waits for something outside of the run, or for its place. */
  readonly resting: boolean
}

/** What may wait for something when it is halted. */
export interface HaltedLater extends Halting {
  /** Once it is halted: what it waits for comes no more, and it ends. */
  wake(): void
}

/** A run, as its call sees it. */
interface CalledRun extends Halting {
  start(): void
  readonly done: Promise<Outcome>
}

export class Call implements HaltedLater {
  readonly #budget: Budget
  readonly #depth: number
  readonly #waits: (still: boolean) => void
  readonly #ready = Promise.withResolvers<void>()
  readonly #go = (): void => {
    this.#placed = true
    this.#waits(false)
    this.#ready.resolve()
  }
  #placed = false
  #halted = false
  #run: CalledRun | null = null

  /** `waits` hears when it waits for its place or for the called run, and when it goes on. */
  constructor(budget: Budget, depth: number, waits: (still: boolean) => void) {
    this.#budget = budget
    this.#depth = depth
    this.#waits = waits
  }

  /** Asked while it waits: without a run, that is for its place. */
  get resting(): boolean {
    return this.#run?.resting ?? true
  }

  halt(): void {
    this.#halted = true
    this.#budget.calls.forget(this.#depth, this.#go)
    this.#run?.halt()
  }

  wake(): void {
    this.#ready.resolve()
  }

  /** Does the work in a place of its depth. @throws NodeError where the caller stopped before it began. */
  async inPlace<T>(work: () => Promise<T>): Promise<T> {
    this.#budget.calls.enter(this.#depth, this.#go)
    if (!this.#placed) this.#waits(true)
    await this.#ready.promise
    try {
      // Very many may be halted in the same moment.
      await this.#budget.slice.turn()
      if (this.#halted) throw new NodeError('The run has stopped.', 'cancelled')
      return await work()
    } finally {
      if (this.#placed) this.#budget.calls.leave(this.#depth)
    }
  }

  /** Runs it to its end. */
  async outcomeOf(run: CalledRun): Promise<Outcome> {
    if (this.#halted) return { status: 'cancelled' }
    this.#run = run
    this.#waits(true)
    run.start()
    const outcome = await run.done
    this.#waits(false)
    await this.#budget.slice.turn()
    return outcome
  }
}
