// Runs a node's own code in one run: guards it, waits for what comes later, and keeps to the limits of what may be
// in flight.
import { type Firing, isThenable } from './firing.ts'
import type { NodeContext, NodeType } from './node-type.ts'
import type { Member, Stage } from './performer.ts'
import { Failure } from './tokens.ts'

/**
 * Node types whose last first firing gave its result at once. A node of any other type needs a place among the
 * asynchronous firings before it begins; these shall not wait for one. Only a hint: it never changes a result.
 */
const answersAtOnce = new WeakSet<NodeType>()

export class Tasks {
  readonly #performer: Member
  readonly #stage: Stage
  #context: NodeContext | null = null
  /** Whether the next firing may take its time, so that it needs a place. */
  #waits: boolean
  inFlight = 0

  constructor(performer: Member, stage: Stage) {
    this.#performer = performer
    this.#stage = stage
    this.#waits = performer.node.mayWait && !answersAtOnce.has(performer.node.type)
  }

  get stopped(): boolean {
    return this.#stage.stopped
  }

  /** Whether a firing may begin now. */
  mayBegin(): boolean {
    return !this.#waits || this.#stage.admit(this.#performer)
  }

  /** Whether one more asynchronous piece of work may begin now. */
  mayLaunch(): boolean {
    return this.#stage.admit(this.#performer)
  }

  /** Runs node code. What it throws gives a failure where that is held; else it fails the run, and gives undefined. */
  attempt<T>(work: (context: NodeContext) => T): T | Failure | undefined {
    this.#context ??= this.#stage.context(this.#performer)
    try {
      const given = work(this.#context)
      // Where the code itself cancelled the run, its firing is under way all the same.
      if (this.#stage.stopped && isThenable(given)) this.wait(given, null, () => {})
      return given
    } catch (error) {
      return this.fail(error) ?? undefined
    }
  }

  /** The failure that stands for an error, or null: it has failed the run. */
  fail(error: unknown): Failure | null {
    return this.#stage.fail(this.#performer, error)
  }

  cameAtOnce(): void {
    if (!this.#waits) return
    this.#waits = false
    answersAtOnce.add(this.#performer.node.type)
  }

  /**
   * Waits for a piece of asynchronous work. What comes after the run has stopped is dropped, and so is what comes for a
   * firing that nobody wants any more. `then` gets the result, or the failure that is held.
   */
  wait(promise: unknown, firing: Firing | null, then: (result: unknown) => void): void {
    this.#waits = true
    answersAtOnce.delete(this.#performer.node.type)
    this.inFlight++
    this.#stage.launched()
    const landed = (settle: () => void) =>
      this.#stage.landed(() => {
        this.inFlight--
        if (!this.#stage.stopped && !firing?.dropped) settle()
        this.#stage.schedule(this.#performer)
      })
    const settled = isThenable(promise) ? promise : Promise.resolve(promise)
    settled.then(
      (result) => landed(() => then(result)),
      (error) =>
        landed(() => {
          const failure = this.fail(error)
          if (failure) then(failure)
        }),
    )
  }
}

/** Whether node code gave something to go on with. */
export function isValue<T>(given: T | Failure | undefined): given is Exclude<T, Failure | undefined> {
  return given !== undefined && !(given instanceof Failure)
}
