// The durable record of one firing: what the journal knows of it, and what it adds. Pure synchronous firings record nothing, as running
// them again gives the same result.

import type { PlanNode } from '../compile/plan.ts'
import type { AggregateFiring, InputValues, OutputValues } from '../node-api/firing-forms.ts'
import type { NodeContext } from '../node-api/node-context.ts'
import { NodeError, NodeInterruptedError } from '../node-api/node-error.ts'
import { isRetrySafe } from '../node-api/node-metadata.ts'
import { Wait } from '../node-api/wait.ts'
import { type FiringControl, isThenable, toItemSource } from '../runtime/firings/firing.ts'
import { createCannotWaitError, toPublicError, validateOutputs } from '../runtime/firings/result-validation.ts'
import type { RunAborter } from '../runtime/run/aborter.ts'
import type { RunEnding } from '../runtime/run/ending.ts'
import type { RunFailures } from '../runtime/run/failures.ts'
import type { RunParticipant } from '../runtime/run/participant.ts'
import type { RunState } from '../runtime/run/state.ts'
import { addPathToMessage, type IndexPath } from '../runtime/streams/position.ts'
import type { FailureToken } from '../runtime/streams/tokens.ts'
import { type AttemptingRun, FiringAttempts } from './firing-attempts.ts'
import { FiringJournal } from './firing-journal.ts'
import type { FiringEnd, FiringHistory, WaitRequest } from './journal.ts'
import { recordStream } from './recorded-items.ts'
import type { FiringSite, RunDurability } from './run-durability.ts'
import type { NonResumable } from './wait-registry.ts'

/** The parts of a run that the records of its firings use. */
interface RecordingRun extends AttemptingRun {
  readonly state: RunState
  readonly aborter: RunAborter
  readonly failures: RunFailures
  readonly ending: RunEnding
}

const neverFetchAll = (_ms: number): boolean => false

/** How long a run that wants to suspend fetches a stream that could resume anyway. */
const EAGER_FETCH_MS = 10_000

export class FiringRecord implements FiringSite, NonResumable, FiringControl {
  readonly node: PlanNode
  path: IndexPath
  /** Set once the code of the firing has a context. */
  context: NodeContext | null = null
  inputs: InputValues
  /** Whether the firing may run again after an interruption. */
  isRetrySafe: boolean
  /** The node's code used something besides its inputs. */
  hasUsedOutside = false
  /** The firing sent chunks to followers: its context cannot be reused. */
  hasSentChunks = false
  /** Earlier items were not recorded, so recording can no longer begin. */
  isSealed = false
  /** The items of its stream from before an interruption. */
  knownItems: FiringHistory['items'] = []
  /** The result need not be recorded for being asynchronous: it depends only on the inputs. */
  isRepeatable = false
  fetchAll = neverFetchAll
  isBusy = false
  /** For an aggregate whose start must be committed first: resolves when it is open. */
  whenOpened: Promise<void> | null = null
  readonly #executor: RunParticipant
  readonly #run: RecordingRun
  readonly #durability: RunDurability
  readonly #firingJournal: FiringJournal
  /** The end is always recorded: the firing is asynchronous, has an effect, or must not run twice. */
  #mustRecordEnd: boolean
  #pathText: string | null = null
  #isStreaming = false
  #isWaiting = false
  #isDropped = false
  /** Created on demand: most firings neither fail nor call workflows. */
  #attempts: FiringAttempts | null = null

  constructor(
    executor: RunParticipant,
    run: RecordingRun,
    durability: RunDurability,
    path: IndexPath,
    inputs: InputValues,
  ) {
    this.node = executor.node
    this.path = path
    this.#executor = executor
    this.#run = run
    this.#durability = durability
    this.#firingJournal = new FiringJournal(durability.journal, this, run.state)
    this.inputs = inputs
    this.isRetrySafe = isRetrySafe(this.node.type, inputs)
    this.#mustRecordEnd = !this.isRetrySafe || this.node.type.effect === true
  }

  /** Prepares the record for the node's next firing. False: this firing left something behind, so a new record is needed. */
  reuse(path: IndexPath, inputs: InputValues): boolean {
    if (
      this.#mustRecordEnd ||
      this.isRepeatable ||
      this.hasUsedOutside ||
      this.hasSentChunks ||
      this.#isStreaming ||
      this.#isWaiting ||
      this.#attempts?.hasCalls
    )
      return false
    this.path = path
    this.inputs = inputs
    this.isRetrySafe = isRetrySafe(this.node.type, inputs)
    this.#mustRecordEnd = !this.isRetrySafe
    this.#pathText = null
    this.#attempts?.forgetRandom()
    return true
  }

  get pathText(): string {
    this.#pathText ??= this.path === null ? '' : this.path.join('.')
    return this.#pathText
  }

  /** Loads the history from the journal if that takes long; null: it does not. */
  prepareRecall(): Promise<void> | null {
    const { journal } = this.#durability
    if (!journal || journal.isBlank) return null
    return journal.prepareRecall?.(this.node.observed.node_id, this.pathText) ?? null
  }

  /** The history of the firing, read once. A firing whose end is known records no other end, even if no consumer wants it now. */
  recall(): FiringHistory | null {
    const { journal } = this.#durability
    if (!journal || journal.isBlank) return null
    const known = journal.recall(this.node.observed.node_id, this.pathText)
    if (known?.end) this.#firingJournal.hasEnded = true
    return known
  }

  /** Whether its stream may be opened again and continue after the known items. */
  get canRepeat(): boolean {
    return this.isRetrySafe && (this.node.type.repeats === true || this.canResume)
  }

  /** Whether the node's code itself continues its stream after the known items. */
  get canResume(): boolean {
    return this.node.type.resumes === true
  }

  get canWait(): boolean {
    return this.#durability.journal !== null && this.node.type.onAnswer !== undefined
  }

  /** Whether the outputs are recorded. */
  get isRecorded(): boolean {
    return this.#durability.journal !== null && (this.#mustRecordEnd || this.hasUsedOutside)
  }

  /** The failed attempts, workflow calls and steps of the firing. */
  get attempts(): FiringAttempts {
    this.#attempts ??= new FiringAttempts(this, this.#run, this.#durability, this.#firingJournal)
    return this.#attempts
  }

  /** Whether the firing waits only for called workflows, none of which can continue by itself. */
  get isQuiescent(): boolean {
    return this.#attempts?.isQuiescent === true
  }

  /** Runs the firing's code. If the firing is not retry-safe, its start is committed first. */
  run(code: () => unknown): unknown {
    return this.#mustCommitStart ? this.#recordLater(this.#recordStart(code)) : this.runToEnd(code)
  }

  async commitStart(): Promise<void> {
    if (this.#mustCommitStart) await this.#recordStart(() => {})
  }

  get #mustCommitStart(): boolean {
    return !this.isRetrySafe && this.#durability.journal !== null
  }

  /** The result of the firing for an answer. */
  resumeWithAnswer(value: unknown): unknown {
    return this.runToEnd(() => this.node.type.onAnswer!(this.inputs, value, this.context!))
  }

  /** Runs a part of the code that does not return the result yet. */
  runStep<T>(code: () => T): T {
    try {
      const given = code()
      if (isThenable(given)) this.#mustRecordEnd = true
      return given
    } catch (error) {
      this.failed(error)
      throw error
    }
  }

  /** Opens an aggregate. If it must not run twice, its start is committed first. */
  openAggregate(code: () => AggregateFiring): AggregateFiring {
    if (!this.#mustCommitStart) return this.runStep(code)
    const begun = this.#recordStart(code)
    // A failure shows when its promise is used.
    this.whenOpened = begun.then(
      () => {},
      () => {},
    )
    return { push: async (value) => (await begun).push(value), end: async () => (await begun).end() }
  }

  item(item: OutputValues): void {
    if (this.#firingJournal.hasEnded) return
    if (!this.canRepeat || this.node.type.isTimeDependent) this.#durability.waitRegistry?.nonResumable.add(this)
    this.#firingJournal.item(item)
  }

  end(end: FiringEnd): void {
    if (this.#firingJournal.hasEnded || !this.isRecorded) return
    this.#firingJournal.end(end)
    this.#attempts?.releaseSteps()
    this.#release()
  }

  get mayContinue(): boolean {
    return this.canRepeat
  }

  fetchToEnd(): boolean {
    return this.fetchAll(this.mayContinue ? EAGER_FETCH_MS : Number.POSITIVE_INFINITY)
  }

  failRun(): void {
    const { node_id } = this.node.observed
    const text = `The run must wait, but node "${node_id}" cannot resume from its current state.`
    this.#run.failures.fail(this.#executor, new NodeInterruptedError(text), this.path)
    this.#run.ending.endIfOver()
  }

  /** Records that the firing ended with a failure. */
  endWithFailure({ node_id, node_type, type, message }: FailureToken): void {
    const own = node_id === this.node.observed.node_id
    this.end({ failure: own ? { type, message } : { type, message, from: { node_id, node_type } } })
  }

  /** The code of the firing threw. If no Catch lies downstream, the run itself records the failure. */
  failed(error: unknown): void {
    if (!this.isRecorded || this.#run.aborter.aborted || error instanceof NodeInterruptedError) return
    const halted = error instanceof NodeError && error.type === 'cancelled'
    if (halted && (this.#run.state.stopped || this.#isDropped)) return
    if (this.#isDropped || this.#executor.isUnwanted) {
      this.end({ unwanted: true })
      return
    }
    if (!this.node.leadsToCatch) return
    const { type, message } = toPublicError(error)
    this.end({ failure: { type, message: addPathToMessage(message, this.path) } })
  }

  /** Registers the wait; returns a function that removes it. `isJournaled`: the journal already knows it. */
  wait(request: WaitRequest, isJournaled: boolean, answer: (value: unknown) => boolean): () => void {
    if (!isJournaled) this.#firingJournal.wait(request)
    return this.#durability.registerWait(this, request, answer)
  }

  /** No consumer wants the firing any more. */
  drop(): void {
    if (this.#isDropped) return
    this.#isDropped = true
    if (this.#isStreaming) this.end({ unwanted: true })
    this.#attempts?.drop()
  }

  createInterruptedError(): NodeInterruptedError {
    const { node_id } = this.node.observed
    const half = ' half-way through its stream and cannot resume there'
    const how = this.knownItems.length > 0 ? half : ' and is not safe to run twice'
    return new NodeInterruptedError(`Node "${node_id}" was interrupted${how}.`)
  }

  /** Runs code that returns the result of the firing. */
  runToEnd(code: () => unknown): unknown {
    try {
      const given = code()
      return isThenable(given) ? this.#recordLater(given) : this.#recordResult(given)
    } catch (error) {
      this.failed(error)
      throw error
    }
  }

  async #recordLater(promise: PromiseLike<unknown>): Promise<unknown> {
    if (!this.isRepeatable) this.#mustRecordEnd = true
    this.isBusy = true
    try {
      return this.#recordResult(await promise)
    } catch (error) {
      this.failed(error)
      this.#release()
      throw error
    } finally {
      this.isBusy = false
    }
  }

  /** The firing no longer prevents its run from being suspended. */
  #release(): void {
    this.#durability.waitRegistry?.nonResumable.delete(this)
  }

  async #recordStart<T>(code: () => T): Promise<T> {
    await this.#firingJournal.start()
    this.#durability.waitRegistry?.nonResumable.add(this)
    return code()
  }

  /** Records the outputs if required. Of a stream, returns an iterator that records its items. */
  #recordResult(given: unknown): unknown {
    if (given instanceof Wait) return this.#beginWaiting(given)
    const source = toItemSource(given)
    if (source) {
      this.#isStreaming = true
      this.#mustRecordEnd ||= !source.isSync
      // A stream that arrives when no consumer wants it is never opened.
      if (this.#isDropped) this.end({ unwanted: true })
      return recordStream(source, this)
    }
    const outputs = validateOutputs(this.node, given)
    this.end({ outputs })
    return outputs
  }

  /** What was used before the wait is part of its request; only later use counts for recording the end. */
  #beginWaiting(wait: Wait): Wait {
    if (!this.canWait) throw createCannotWaitError(this.node)
    this.#isWaiting = true
    this.#mustRecordEnd = !this.isRetrySafe || this.node.type.effect === true
    this.hasUsedOutside = false
    this.#release()
    return wait
  }
}
