// Runs a node's own code in one run: guards it, waits for what comes later, and keeps to the limits of what may be
// in flight.
import { type Firing, isThenable } from './firing.ts'
import type { HeldValues } from './held-values.ts'
import type { HeldFailure } from './journal.ts'
import { Memo, type MemoHost } from './memo.ts'
import type { Inputs, Interrupted, NodeContext, NodeType } from './node-type.ts'
import type { Member, Stage } from './performer.ts'
import { type Path, Place } from './place.ts'
import { Failure } from './tokens.ts'

/**
 * Node types whose last first firing gave its result at once. A node of any other type needs a place among the
 * asynchronous firings before it begins; these shall not wait for one. Only a hint: it never changes a result.
 */
const answersAtOnce = new WeakSet<NodeType>()

export class Tasks implements MemoHost {
  readonly #performer: Member
  readonly #stage: Stage
  #context: NodeContext | null = null
  /** What was remembered of a firing that is over, for the next one. */
  #spare: Memo | null = null
  /** Whether the next firing may take its time, so that it needs a place. */
  #waits: boolean
  inFlight = 0
  /** Where the node reads at present; null outside of all streams. */
  readonly place: Place | null

  constructor(performer: Member, stage: Stage) {
    this.#performer = performer
    this.#stage = stage
    this.#waits = performer.node.mayWait && !answersAtOnce.has(performer.node.type)
    const { readDepth } = performer.node
    this.place = readDepth > 0 ? new Place(readDepth) : null
  }

  /** The index path of what was read last. */
  get path(): Path {
    return this.place?.now() ?? null
  }

  get stopped(): boolean {
    return this.#stage.stopped
  }

  /** What the run holds. */
  get held(): HeldValues {
    return this.#stage.held
  }

  get settled(): boolean {
    return this.#stage.settled
  }

  get aborted(): boolean {
    return this.#stage.aborted
  }

  get unwanted(): boolean {
    return this.#performer.unwanted
  }

  random(): number {
    return this.#stage.random()
  }

  stilled(still: boolean): void {
    this.#stage.stilled(still)
  }

  interrupt(error: Interrupted, path: Path): void {
    this.#stage.interrupt(this.#performer, error, path)
  }

  breakDown(fault: unknown): void {
    this.#stage.breakDown(fault)
  }

  /** Begins what is remembered of a firing, which then has a context of its own; null in a run that remembers nothing. */
  remember(inputs: Inputs): Memo | null {
    const { memory } = this.#stage
    if (!memory) return null
    const { path } = this
    const spare = this.#spare
    this.#spare = null
    if (spare?.renew(path, inputs)) return spare
    const memo = new Memo(this.#performer.node, this, memory, path, inputs)
    memo.context = this.#stage.context(this.#performer, { memo })
    this.#context = memo.context
    return memo
  }

  /** Whether a firing may begin now. */
  mayBegin(): boolean {
    return !this.#waits || this.#stage.admit(this.#performer)
  }

  /** Whether one more asynchronous piece of work may begin now. */
  mayLaunch(): boolean {
    return this.#stage.admit(this.#performer)
  }

  /**
   * Runs node code, of what was read last or of an earlier firing. What it throws gives a failure where that is held; else it
   * fails the run, and gives undefined.
   */
  attempt<T>(work: (context: NodeContext) => T, firing: Firing | null = null): T | Failure | undefined {
    this.#context ??= this.#stage.context(this.#performer)
    try {
      const given = work(this.#context)
      // Where the code itself cancelled the run, its firing is under way all the same.
      if (this.#stage.stopped && isThenable(given)) this.wait(given, null, () => {})
      return given
    } catch (error) {
      return this.fail(error, firing) ?? undefined
    }
  }

  /** As `attempt`, for a firing of which nothing is remembered. Where it is not over with that, its context is its own: it may take steps. */
  begin<T>(work: (context: NodeContext) => T): T | Failure | undefined {
    const given = this.attempt(work)
    if (goesOn(given)) this.#context = null
    return given
  }

  /** The failure that stands for an error, or null: it has failed the run. */
  fail(error: unknown, firing: Firing | null = null): Failure | null {
    return this.#stage.fail(this.#performer, error, firing ? firing.path : this.path)
  }

  /** A firing is over: what was remembered of it, if that is nothing, will do for the next one. */
  forget(memo: Memo): void {
    this.#spare = memo
  }

  /** A failure that was held before an interruption, held again. */
  failAgain(failure: HeldFailure): Failure {
    return this.#stage.failAgain(this.#performer, failure)
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
    const leave = this.#enterRegion(firing)
    const letGo = this.#holdPlace(firing, leave)
    const landed = (settle: () => void) => {
      const holds = letGo()
      this.#stage.landed(holds, () => {
        if (holds) this.inFlight--
        if (!this.#stage.stopped && !firing?.dropped) settle()
        this.#stage.schedule(this.#performer)
        leave?.()
      })
    }
    const settled = isThenable(promise) ? promise : Promise.resolve(promise)
    settled.then(
      (result) => landed(() => then(result)),
      (error) =>
        landed(() => {
          const failure = this.fail(error, firing)
          if (failure) then(failure)
        }),
    )
  }

  /** Counts a firing that is wanted as under way in its region, until that is called; what an opener fetches beyond its bound does not count. */
  #enterRegion(firing: Firing | null): (() => void) | null {
    const { region, bound } = this.#performer
    if (region === null || firing?.dropped || bound?.closed) return null
    let counts = true
    region.enter()
    return () => {
      if (counts) region.leave()
      counts = false
    }
  }

  /** Takes a place for a firing that is wanted, until it lands or is dropped. Gives what lets go of it, and tells whether it was still held. */
  #holdPlace(firing: Firing | null, leave: (() => void) | null): () => boolean {
    let holds = !firing?.dropped
    this.#stage.launched(holds)
    if (!holds) return () => false
    this.inFlight++
    if (firing) {
      firing.release = () => {
        if (!holds) return
        holds = false
        this.inFlight--
        this.#stage.gaveBack()
        leave?.()
      }
    }
    return () => {
      const held = holds
      holds = false
      return held
    }
  }
}

/** Whether a firing that gave this may not be over: a promise, a generator, or an aggregate. */
function goesOn(given: unknown): boolean {
  return typeof given === 'object' && given !== null && ('then' in given || 'next' in given || 'push' in given)
}

/** Whether node code gave something to go on with. */
export function isValue<T>(given: T | Failure | undefined): given is Exclude<T, Failure | undefined> {
  return given !== undefined && !(given instanceof Failure)
}
