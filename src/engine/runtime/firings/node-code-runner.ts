// Runs a node's code in one run: catches its errors, awaits asynchronous results, and keeps the limits of work in flight.

import { FiringRecord } from '../../durability/firing-record.ts'
import type { CaughtFailure } from '../../durability/journal.ts'
import type { InputValues } from '../../node-api/firing-forms.ts'
import type { NodeContext } from '../../node-api/node-context.ts'
import type { NodeType } from '../../node-api/node-type.ts'
import type { RunMemoryAccount } from '../run/memory-account.ts'
import type { RunParticipant } from '../run/participant.ts'
import type { RunHost } from '../run/run-host.ts'
import { type IndexPath, StreamPosition } from '../streams/position.ts'
import { FailureToken } from '../streams/tokens.ts'
import { FiringContext } from './context.ts'
import { type Firing, isThenable } from './firing.ts'

/**
 * Node types whose last first firing returned its result synchronously. Firings of other types need a concurrency permit before they begin.
 * This is only a hint and never changes a result.
 */
const synchronousTypes = new WeakSet<NodeType>()

export class NodeCodeRunner {
  readonly #executor: RunParticipant
  readonly #host: RunHost
  #context: NodeContext | null = null
  /** The record of a finished firing, for reuse by the next. */
  #spareRecord: FiringRecord | null = null
  /** Whether the next firing may be asynchronous and so needs a permit. */
  #mayBeAsync: boolean
  inFlight = 0
  /** The position of the node's reading; null outside of all streams. */
  readonly position: StreamPosition | null

  constructor(executor: RunParticipant, host: RunHost) {
    this.#executor = executor
    this.#host = host
    this.#mayBeAsync = executor.node.mayBeAsync && !synchronousTypes.has(executor.node.type)
    const { readDepth } = executor.node
    this.position = readDepth > 0 ? new StreamPosition(readDepth) : null
  }

  /** The index path of the last read item. */
  get path(): IndexPath {
    return this.position?.currentPath() ?? null
  }

  get stopped(): boolean {
    return this.#host.state.stopped
  }

  /** The memory account of the run. */
  get memoryAccount(): RunMemoryAccount {
    return this.#host.memoryAccount
  }

  /** Creates or reuses the record of a firing, which then has its own context; null in a run that is not durable. */
  createRecord(inputs: InputValues): FiringRecord | null {
    const { durability } = this.#host
    if (!durability) return null
    const { path } = this
    const spareRecord = this.#spareRecord
    this.#spareRecord = null
    if (spareRecord?.reuse(path, inputs)) return spareRecord
    const record = new FiringRecord(this.#executor, this.#host, durability, path, inputs)
    record.context = new FiringContext(this.#executor.node, this.#host.environment, { record })
    this.#context = record.context
    return record
  }

  /** Whether a firing may begin now. */
  canBegin(): boolean {
    return !this.#mayBeAsync || this.#host.scheduler.admit(this.#executor)
  }

  /** Whether another asynchronous piece of work may begin now. */
  canLaunch(): boolean {
    return this.#host.scheduler.admit(this.#executor)
  }

  /**
   * Runs code of the last read item, or of an earlier firing. An error becomes a failure if a Catch receives it; otherwise it fails the
   * run, and the result is undefined.
   */
  runCode<T>(work: (context: NodeContext) => T, firing: Firing | null = null): T | FailureToken | undefined {
    this.#context ??= new FiringContext(this.#executor.node, this.#host.environment)
    try {
      const given = work(this.#context)
      // If the code itself cancelled the run, its firing is still in flight.
      if (this.stopped && isThenable(given)) this.awaitWork(given, null, () => {})
      return given
    } catch (error) {
      return this.fail(error, firing) ?? undefined
    }
  }

  /** `runCode` for a firing without a record. If the firing is not over afterwards, it keeps its context for itself, as it may take steps. */
  runFiring<T>(work: (context: NodeContext) => T): T | FailureToken | undefined {
    const given = this.runCode(work)
    if (mayContinue(given)) this.#context = null
    return given
  }

  /** The failure for an error, or null: the error has failed the run. */
  fail(error: unknown, firing: Firing | null = null): FailureToken | null {
    return this.#host.failures.fail(this.#executor, error, firing ? firing.path : this.path)
  }

  /** Keeps the record of a finished firing for reuse, if it recorded nothing. */
  reuseRecord(record: FiringRecord): void {
    this.#spareRecord = record
  }

  /** Restores a failure that a Catch received before an interruption. */
  restoreFailure(failure: CaughtFailure): FailureToken {
    return this.#host.failures.restoreCaught(this.#executor, failure)
  }

  markSynchronous(): void {
    if (!this.#mayBeAsync) return
    this.#mayBeAsync = false
    synchronousTypes.add(this.#executor.node.type)
  }

  /**
   * Awaits asynchronous work. Results after the run has stopped are dropped, and so are results of a dropped firing. `then` receives the
   * result, or the failure that is passed to a Catch.
   */
  awaitWork(promise: unknown, firing: Firing | null, then: (result: unknown) => void): void {
    this.#mayBeAsync = true
    synchronousTypes.delete(this.#executor.node.type)
    const leave = this.#enterRegion(firing)
    const releasePermit = this.#takePermit(firing, leave)
    const onSettled = (settle: () => void) => {
      const holds = releasePermit()
      this.#host.workLoop.onWorkEnded(holds, () => {
        if (holds) this.inFlight--
        if (!this.stopped && !firing?.isDropped) settle()
        this.#host.scheduler.schedule(this.#executor)
        leave?.()
      })
    }
    const settled = isThenable(promise) ? promise : Promise.resolve(promise)
    settled.then(
      (result) => onSettled(() => then(result)),
      (error) =>
        onSettled(() => {
          const failure = this.fail(error, firing)
          if (failure) then(failure)
        }),
    )
  }

  /** Counts a wanted firing as work in its region; returns a function that ends it. Items fetched beyond an opener's limit do not count. */
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

  /** Takes a permit for a wanted firing until it ends or is dropped. Returns a function that releases it and tells whether it was still held. */
  #takePermit(firing: Firing | null, leave: (() => void) | null): () => boolean {
    let holds = !firing?.isDropped
    this.#host.workLoop.onWorkBegun(holds)
    if (!holds) return () => false
    this.inFlight++
    if (firing) {
      firing.release = () => {
        if (!holds) return
        holds = false
        this.inFlight--
        this.#host.workLoop.onPermitReleased()
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

/** Whether a firing with this result may not be over: the result is a promise, a generator, or an aggregate. */
function mayContinue(given: unknown): boolean {
  return typeof given === 'object' && given !== null && ('then' in given || 'next' in given || 'push' in given)
}

/** Whether node code returned a usable result. */
export function isNodeResult<T>(given: T | FailureToken | undefined): given is Exclude<T, FailureToken | undefined> {
  return given !== undefined && !(given instanceof FailureToken)
}
