// One firing as it is remembered: what is known of it from before, and what is to be known after it. Pure synchronous firings leave
// nothing: they come out the same when they are done again.

import type { PlanNode } from '../compile/plan.ts'
import { isRetrySafe } from '../node-api/node-metadata.ts'
import {
  type AggregateFiring,
  type InputValues,
  type NodeContext,
  NodeError,
  NodeInterruptedError,
  type OutputValues,
  Wait,
} from '../node-api/node-type.ts'
import { type AttemptJournal, NO_FAILED_ATTEMPTS } from '../runtime/firings/attempts.ts'
import { FiringCalls } from '../runtime/firings/calls.ts'
import { type FiringControl, isThenable, toItemSource } from '../runtime/firings/firing.ts'
import { createCannotWaitError, toPublicError, validateOutputs } from '../runtime/firings/result-validation.ts'
import { addPathToMessage, type IndexPath } from '../runtime/streams/position.ts'
import type { FailureToken } from '../runtime/streams/tokens.ts'
import { FiringJournal } from './firing-journal.ts'
import { countCalls, FiringSteps, NO_STEPS, type OpenStep, type StepStore } from './firing-steps.ts'
import type { FiringEnd, FiringHistory, RecordedStep, WaitRequest } from './journal.ts'
import { recordStream } from './recorded-items.ts'
import type { FiringSite, RunDurability } from './run-durability.ts'
import type { NonResumable } from './wait-registry.ts'

/** The node and the run of a firing, as its memory sees them. */
export interface FiringRecordHost {
  readonly stopped: boolean
  readonly settled: boolean
  /** Whether firings in flight were told to end. */
  readonly aborted: boolean
  /** Whether nobody wants what the node gives at present. */
  readonly isUnwanted: boolean
  random(): number
  /** The firing waits for nothing but the workflows that it calls, or goes on. */
  onWaitingChanged(still: boolean): void
  /** The firing would be interrupted where it may not be. */
  interrupt(error: NodeInterruptedError, path: IndexPath): void
  breakDown(fault: unknown): void
}

const neverFetchAll = (_ms: number): boolean => false

/** How long a run that has to wait fetches a stream that can go on if need be. */
const EAGER_FETCH_MS = 10_000

export class FiringRecord implements FiringSite, NonResumable, FiringControl, AttemptJournal, StepStore {
  readonly node: PlanNode
  path: IndexPath
  /** Its own context, once it has one. */
  context: NodeContext | null = null
  inputs: InputValues
  /** Whether it may be run again where it was interrupted. */
  isRetrySafe: boolean
  /** Its node's code took something from outside of its inputs. */
  hasUsedOutside = false
  /** It said something to those who watch: that is the words of this firing alone. */
  hasSentChunks = false
  /** It may not any more: what it gave before was not remembered. */
  isSealed = false
  /** The items that its stream gave before an interruption. */
  knownItems: FiringHistory['items'] = []
  /** The steps that it had taken before an interruption. */
  knownSteps: ReadonlyMap<string, RecordedStep> = NO_STEPS
  /** Its attempts that failed, those before an interruption included. */
  failedAttempts = NO_FAILED_ATTEMPTS
  /** What comes later of it is not remembered for that: it follows from its inputs alone. */
  isRepeatable = false
  fetchAll = neverFetchAll
  isBusy = false
  /** Resolves when an aggregate that has to wait for its start is open. */
  whenOpened: Promise<void> | null = null
  readonly #host: FiringRecordHost
  readonly #durability: RunDurability
  readonly #firingJournal: FiringJournal
  /** Its end is remembered whatever it took: it came later, has an effect, or must not run twice. */
  #mustRecordEnd: boolean
  #pathText: string | null = null
  #isStreaming = false
  #isWaiting = false
  #isDropped = false
  #random: (() => number) | null = null
  #calls: FiringCalls | null = null
  #steps: FiringSteps | null = null

  constructor(node: PlanNode, host: FiringRecordHost, durability: RunDurability, path: IndexPath, inputs: InputValues) {
    this.node = node
    this.path = path
    this.#host = host
    this.#durability = durability
    this.#firingJournal = new FiringJournal(durability.journal, this, host)
    this.inputs = inputs
    this.isRetrySafe = isRetrySafe(this.node.type, inputs)
    this.#mustRecordEnd = !this.isRetrySafe || this.node.type.effect === true
  }

  /** Begins the next firing of the node, where this one left nothing behind. False: it did. */
  reuse(path: IndexPath, inputs: InputValues): boolean {
    if (
      this.#mustRecordEnd ||
      this.isRepeatable ||
      this.hasUsedOutside ||
      this.hasSentChunks ||
      this.#isStreaming ||
      this.#isWaiting ||
      this.#calls !== null
    )
      return false
    this.path = path
    this.inputs = inputs
    this.isRetrySafe = isRetrySafe(this.node.type, inputs)
    this.#mustRecordEnd = !this.isRetrySafe
    this.#pathText = null
    this.#random = null
    return true
  }

  get pathText(): string {
    this.#pathText ??= this.path === null ? '' : this.path.join('.')
    return this.#pathText
  }

  /** Has what is known of it read where that takes long; null: it does not. */
  prepareRecall(): Promise<void> | null {
    const { journal } = this.#durability
    if (!journal || journal.isBlank) return null
    return journal.prepareRecall?.(this.node.observed.node_id, this.pathText) ?? null
  }

  /** What is known of it. Asked once. One whose end is known has nothing more to tell: that nobody wants it now does not take its place. */
  recall(): FiringHistory | null {
    const { journal } = this.#durability
    if (!journal || journal.isBlank) return null
    const known = journal.recall(this.node.observed.node_id, this.pathText)
    if (known?.end) this.#firingJournal.hasEnded = true
    return known
  }

  /** Whether its stream may be opened anew, and go on behind the items that came before. */
  get canRepeat(): boolean {
    return this.isRetrySafe && (this.node.type.repeats === true || this.canResume)
  }

  /** Whether its stream goes on behind what it gave by itself. */
  get canResume(): boolean {
    return this.node.type.resumes === true
  }

  get canWait(): boolean {
    return this.#durability.journal !== null && this.node.type.onAnswer !== undefined
  }

  /** Whether what it gives is remembered. */
  get isRecorded(): boolean {
    return this.#durability.journal !== null && (this.#mustRecordEnd || this.hasUsedOutside)
  }

  random(): number {
    this.#random ??= this.#durability.createRandom(this, this.failedAttempts.failed) ?? (() => this.#host.random())
    return this.#random()
  }

  /** The workflows that it calls. */
  get calls(): FiringCalls {
    const made = () => Math.max(this.failedAttempts.calls, countCalls(this.knownSteps))
    this.#calls ??= new FiringCalls((still) => this.#host.onWaitingChanged(still), made())
    return this.#calls
  }

  /** Whether it waits for nothing but workflows that it called, none of which goes on by itself. */
  get isQuiescent(): boolean {
    return this.#calls?.isQuiescent === true
  }

  /** The memory of the workflow that a step calls, or of the next one that is called outside of all steps. */
  nextCall(step: OpenStep | null): RunDurability {
    if (step === null && this.#steps !== null)
      throw new Error('A firing that takes steps calls workflows in them alone.')
    return this.#durability.forCall(this, step?.call ?? this.calls.nextNumber())
  }

  /** Begins a step of it. */
  takeStep(name: string): Promise<OpenStep> {
    return this.#openSteps.begin(name)
  }

  /** Without effect once it has ended. */
  async keep(name: string, value: unknown): Promise<void> {
    if (!this.#firingJournal.hasEnded) await this.#openSteps.keep(name, value)
  }

  findKept(name: string): { readonly value: unknown } | null {
    return this.#openSteps.findKept(name)
  }

  isStepInterrupted(name: string): boolean {
    return this.#openSteps.isInterrupted(name)
  }

  /** Its steps. */
  get #openSteps(): FiringSteps {
    this.#steps ??= new FiringSteps(this.knownSteps, this.calls, this.#firingJournal)
    return this.#steps
  }

  /** Runs its code; of one that is not safe to run again once its start is committed. */
  run(code: () => unknown): unknown {
    if (this.isRetrySafe || this.#durability.journal === null) return this.runToEnd(code)
    return this.#recordLater(this.#recordStart(code))
  }

  recordFailure(next_at: number): void {
    const { failed, forgiven, calls } = this.failedAttempts
    this.#random = null
    this.#steps?.restart()
    this.failedAttempts = { failed: failed + 1, forgiven, calls: this.#calls?.count ?? calls, next_at }
    this.#firingJournal.attempt(this.failedAttempts)
  }

  async beginNext(): Promise<void> {
    if (!this.isRetrySafe && this.#durability.journal !== null) await this.#recordStart(() => {})
  }

  /** What it gives for an answer. */
  resumeWithAnswer(value: unknown): unknown {
    return this.runToEnd(() => this.node.type.onAnswer!(this.inputs, value, this.context!))
  }

  /** Runs one step of its code, which gives nothing yet. */
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

  /** Opens an aggregate; one that must not run twice once its start is committed. */
  openAggregate(code: () => AggregateFiring): AggregateFiring {
    if (this.isRetrySafe || this.#durability.journal === null) return this.runStep(code)
    const begun = this.#recordStart(code)
    // Where it fails, its steps say so.
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
    this.#steps = null
    this.knownSteps = NO_STEPS
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
    const text = `The run has to wait, and node "${node_id}" could not go on from where it stands.`
    this.#host.interrupt(new NodeInterruptedError(text), this.path)
  }

  /** A failure stands for it. */
  endWithFailure({ node_id, node_type, type, message }: FailureToken): void {
    const own = node_id === this.node.observed.node_id
    this.end({ failure: own ? { type, message } : { type, message, from: { node_id, node_type } } })
  }

  /** Its code threw. Where nothing holds that, the run ends with it, which the run itself tells. */
  failed(error: unknown): void {
    const host = this.#host
    if (!this.isRecorded || host.aborted || error instanceof NodeInterruptedError) return
    const halted = error instanceof NodeError && error.type === 'cancelled'
    if (halted && (host.stopped || this.#isDropped)) return
    if (this.#isDropped || host.isUnwanted) {
      this.end({ unwanted: true })
      return
    }
    if (!this.node.leadsToCatch) return
    const { type, message } = toPublicError(error)
    this.end({ failure: { type, message: addPathToMessage(message, this.path) } })
  }

  /** It waits. Gives what takes it from the list of those who do. `told`: that is known already. */
  wait(request: WaitRequest, isJournaled: boolean, answer: (value: unknown) => boolean): () => void {
    if (!isJournaled) this.#firingJournal.wait(request)
    return this.#durability.registerWait(this, request, answer)
  }

  /** Nobody wants it any more. */
  drop(): void {
    if (this.#isDropped) return
    this.#isDropped = true
    if (this.#isStreaming) this.end({ unwanted: true })
    this.#calls?.drop()
  }

  createInterruptedError(): NodeInterruptedError {
    const { node_id } = this.node.observed
    const half = ' half-way through its stream, and can not go on there'
    const how = this.knownItems.length > 0 ? half : ', and is not safe to run twice'
    return new NodeInterruptedError(`Node "${node_id}" was interrupted${how}.`)
  }

  /** Runs the code that gives its end. */
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

  /** It stands in nobody's way any more. */
  #release(): void {
    this.#durability.waitRegistry?.nonResumable.delete(this)
  }

  async #recordStart<T>(code: () => T): Promise<T> {
    await this.#firingJournal.start()
    this.#durability.waitRegistry?.nonResumable.add(this)
    return code()
  }

  /** What it gave, remembered where it is to be; of a stream, what remembers its items. */
  #recordResult(given: unknown): unknown {
    if (given instanceof Wait) return this.#beginWaiting(given)
    const source = toItemSource(given)
    if (source) {
      this.#isStreaming = true
      this.#mustRecordEnd ||= !source.isSync
      // A stream that came when nobody wanted it any more is never opened.
      if (this.#isDropped) this.end({ unwanted: true })
      return recordStream(source, this)
    }
    const outputs = validateOutputs(this.node, given)
    this.end({ outputs })
    return outputs
  }

  /** What it took before it waits is in its request; only what comes after counts for its end. */
  #beginWaiting(wait: Wait): Wait {
    if (!this.canWait) throw createCannotWaitError(this.node)
    this.#isWaiting = true
    this.#mustRecordEnd = !this.isRetrySafe || this.node.type.effect === true
    this.hasUsedOutside = false
    this.#release()
    return wait
  }
}
