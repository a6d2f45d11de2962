// Runs a node's own code in one run: guards it, waits for what comes later, and keeps to the limits of what may be
// in flight.

import { FiringRecord, type FiringRecordHost } from '../../durability/firing-record.ts'
import type { CaughtFailure } from '../../durability/journal.ts'
import type { InputValues, NodeContext, NodeInterruptedError, NodeType } from '../../node-api/node-type.ts'
import type { RunMemoryAccount } from '../run/memory-account.ts'
import type { RunHost, RunParticipant } from '../run/node-interfaces.ts'
import { type IndexPath, StreamPosition } from '../streams/position.ts'
import { FailureToken } from '../streams/tokens.ts'
import { type Firing, isThenable } from './firing.ts'

/**
 * Node types whose last first firing gave its result at once. A node of any other type needs a place among the
 * asynchronous firings before it begins; these shall not wait for one. Only a hint: it never changes a result.
 */
const synchronousTypes = new WeakSet<NodeType>()

export class NodeCodeRunner implements FiringRecordHost {
  readonly #executor: RunParticipant
  readonly #host: RunHost
  #context: NodeContext | null = null
  /** What was remembered of a firing that is over, for the next one. */
  #spareRecord: FiringRecord | null = null
  /** Whether the next firing may take its time, so that it needs a place. */
  #mayBeAsync: boolean
  inFlight = 0
  /** Where the node reads at present; null outside of all streams. */
  readonly position: StreamPosition | null

  constructor(executor: RunParticipant, host: RunHost) {
    this.#executor = executor
    this.#host = host
    this.#mayBeAsync = executor.node.mayBeAsync && !synchronousTypes.has(executor.node.type)
    const { readDepth } = executor.node
    this.position = readDepth > 0 ? new StreamPosition(readDepth) : null
  }

  /** The index path of what was read last. */
  get path(): IndexPath {
    return this.position?.currentPath() ?? null
  }

  get stopped(): boolean {
    return this.#host.stopped
  }

  /** What the run holds. */
  get memoryAccount(): RunMemoryAccount {
    return this.#host.memoryAccount
  }

  get settled(): boolean {
    return this.#host.settled
  }

  get aborted(): boolean {
    return this.#host.aborted
  }

  get isUnwanted(): boolean {
    return this.#executor.isUnwanted
  }

  random(): number {
    return this.#host.random()
  }

  onWaitingChanged(still: boolean): void {
    this.#host.onWaitingChanged(still)
  }

  interrupt(error: NodeInterruptedError, path: IndexPath): void {
    this.#host.interrupt(this.#executor, error, path)
  }

  breakDown(fault: unknown): void {
    this.#host.breakDown(fault)
  }

  /** Begins what is remembered of a firing, which then has a context of its own; null in a run that remembers nothing. */
  createRecord(inputs: InputValues): FiringRecord | null {
    const { durability: memory } = this.#host
    if (!memory) return null
    const { path } = this
    const spareRecord = this.#spareRecord
    this.#spareRecord = null
    if (spareRecord?.reuse(path, inputs)) return spareRecord
    const record = new FiringRecord(this.#executor.node, this, memory, path, inputs)
    record.context = this.#host.context(this.#executor, { record: record })
    this.#context = record.context
    return record
  }

  /** Whether a firing may begin now. */
  canBegin(): boolean {
    return !this.#mayBeAsync || this.#host.admit(this.#executor)
  }

  /** Whether one more asynchronous piece of work may begin now. */
  canLaunch(): boolean {
    return this.#host.admit(this.#executor)
  }

  /**
   * Runs node code, of what was read last or of an earlier firing. What it throws gives a failure where that is held; else it
   * fails the run, and gives undefined.
   */
  runCode<T>(work: (context: NodeContext) => T, firing: Firing | null = null): T | FailureToken | undefined {
    this.#context ??= this.#host.context(this.#executor)
    try {
      const given = work(this.#context)
      // Where the code itself cancelled the run, its firing is under way all the same.
      if (this.#host.stopped && isThenable(given)) this.awaitWork(given, null, () => {})
      return given
    } catch (error) {
      return this.fail(error, firing) ?? undefined
    }
  }

  /** As `attempt`, for a firing of which nothing is remembered. Where it is not over with that, its context is its own: it may take steps. */
  runFiring<T>(work: (context: NodeContext) => T): T | FailureToken | undefined {
    const given = this.runCode(work)
    if (mayContinue(given)) this.#context = null
    return given
  }

  /** The failure that stands for an error, or null: it has failed the run. */
  fail(error: unknown, firing: Firing | null = null): FailureToken | null {
    return this.#host.fail(this.#executor, error, firing ? firing.path : this.path)
  }

  /** A firing is over: what was remembered of it, if that is nothing, will do for the next one. */
  reuseRecord(record: FiringRecord): void {
    this.#spareRecord = record
  }

  /** A failure that was held before an interruption, held again. */
  restoreFailure(failure: CaughtFailure): FailureToken {
    return this.#host.restoreFailure(this.#executor, failure)
  }

  markSynchronous(): void {
    if (!this.#mayBeAsync) return
    this.#mayBeAsync = false
    synchronousTypes.add(this.#executor.node.type)
  }

  /**
   * Waits for a piece of asynchronous work. What comes after the run has stopped is dropped, and so is what comes for a
   * firing that nobody wants any more. `then` gets the result, or the failure that is held.
   */
  awaitWork(promise: unknown, firing: Firing | null, then: (result: unknown) => void): void {
    this.#mayBeAsync = true
    synchronousTypes.delete(this.#executor.node.type)
    const leave = this.#enterRegion(firing)
    const letGo = this.#takePermit(firing, leave)
    const landed = (settle: () => void) => {
      const holds = letGo()
      this.#host.onWorkEnded(holds, () => {
        if (holds) this.inFlight--
        if (!this.#host.stopped && !firing?.isDropped) settle()
        this.#host.schedule(this.#executor)
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
    const { region, bound } = this.#executor
    if (region === null || firing?.isDropped || bound?.closed) return null
    let counts = true
    region.beginWork()
    return () => {
      if (counts) region.endWork()
      counts = false
    }
  }

  /** Takes a place for a firing that is wanted, until it lands or is dropped. Gives what lets go of it, and tells whether it was still held. */
  #takePermit(firing: Firing | null, leave: (() => void) | null): () => boolean {
    let holds = !firing?.isDropped
    this.#host.onWorkBegun(holds)
    if (!holds) return () => false
    this.inFlight++
    if (firing) {
      firing.release = () => {
        if (!holds) return
        holds = false
        this.inFlight--
        this.#host.onPermitReleased()
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
function mayContinue(given: unknown): boolean {
  return typeof given === 'object' && given !== null && ('then' in given || 'next' in given || 'push' in given)
}

/** Whether node code gave something to go on with. */
export function isNodeResult<T>(given: T | FailureToken | undefined): given is Exclude<T, FailureToken | undefined> {
  return given !== undefined && !(given instanceof FailureToken)
}
