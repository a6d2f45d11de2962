// One run: its services for nodes and host, and its end. scheduler.ts decides whose turn it is.

import { forEachSteps, type Steps } from '../../../shared/time-slices.ts'
import type { Plan } from '../../compile/compiler.ts'
import type { PlanNode } from '../../compile/plan.ts'
import { DurableServices } from '../../durability/durable-services.ts'
import type { FiringRecord } from '../../durability/firing-record.ts'
import type { CaughtFailure, NodeUpdate, WaitingFiring, WaitRequest } from '../../durability/journal.ts'
import type { RunDurability } from '../../durability/run-durability.ts'
import type { SuspendableRun } from '../../durability/wait-registry.ts'
import type { Clock } from '../../node-api/clock.ts'
import type { InputValues, OutputValues } from '../../node-api/firing-forms.ts'
import type { NodeContext } from '../../node-api/node-context.ts'
import type { NodeServices } from '../../node-api/node-services.ts'
import { NodeError, type NodeInterruptedError } from '../../node-api/node-type.ts'
import type { ComputeAccess } from '../../node-api/services/compute.ts'
import { containsBytes } from '../../node-api/values/measure.ts'
import type { AttemptHost } from '../firings/attempts.ts'
import { sleepWithoutPermit, withoutPermit } from '../firings/concurrency-permit.ts'
import { type ContextHost, FiringContext, type FiringContextOptions } from '../firings/context.ts'
import type { ItemSource } from '../firings/firing.ts'
import { resolveInputNodeValues } from '../firings/result-validation.ts'
import { InFlightCounter } from '../in-flight-counter.ts'
import { NodeExecutor } from '../node-executor.ts'
import { Scheduler } from '../scheduler.ts'
import { RunRegions } from '../streams/demand.ts'
import { reportEdgeProgress } from '../streams/edge-progress.ts'
import type { Inbox } from '../streams/inbox.ts'
import type { IndexPath } from '../streams/position.ts'
import {
  appendValue,
  endStream,
  hasInputEnded,
  type InputsInTransit,
  type PushResult,
  pushValue,
  type StreamedInput,
  StreamedInputs,
} from '../streams/streamed-inputs.ts'
import type { FailureToken } from '../streams/tokens.ts'
import type { TimeSlice } from '../time-slice.ts'
import type { Haltable, HaltableWait } from '../workflow-call.ts'
import { RunAborter } from './aborter.ts'
import { RunFailures } from './failures.ts'
import { estimateWeight, RunMemoryAccount } from './memory-account.ts'
import { CLOSED_PARTICIPANT, type RunHost, type RunParticipant, type Schedulable } from './node-interfaces.ts'
import type { ObservedNode, RunError, RunObserver, RunOutcome } from './observer.ts'
import type { FiringCallSite, GraphRunOptions } from './options.ts'
import { RunOutputs } from './outputs.ts'

type RunState = 'running' | 'failing' | 'cancelling' | 'suspending' | 'settled'

/** The limits of the approximate characters on edges before producers pause: in all, and at least per edge. */
const MAX_EDGES_WEIGHT = 256_000_000
const MIN_EDGE_WEIGHT = 100_000

/** The number of nodes created between two readings of the clock. */
const NODES_PER_TIME_CHECK = 64

/**
 * The size in approximate characters from which an output value is prepared in steps. Values with bytes always are, as bytes are written to
 * files.
 */
const LARGE_OUTPUT = 100_000

const NO_UPDATES: readonly NodeUpdate[] = []

const NO_NODE: ObservedNode = { node_id: '', node_name: '', node_type: '' }

export class GraphRun implements RunHost, ContextHost, Haltable, SuspendableRun {
  readonly deliver = (node: number, slot: number, token: unknown): void => this.#executorOf(node).receive(slot, token)
  readonly inboxLimit: number
  readonly inboxWeight: number
  readonly memoryAccount: RunMemoryAccount
  readonly clock: Clock
  readonly observer: RunObserver
  readonly random: () => number
  readonly durability: RunDurability | null
  readonly regions: RunRegions | null
  /** An object that is shared with called workflows only. */
  readonly run: object
  readonly #plan: Plan
  readonly #options: GraphRunOptions
  /** Created when they have work, and released when they are closed: each costs memory in between. */
  readonly #executors: (Schedulable | undefined)[]
  readonly #scheduler: Scheduler
  readonly #streamedInputs: StreamedInputs
  /** Property changes by node id. */
  readonly #updates: ReadonlyMap<string, readonly NodeUpdate[]>
  readonly #outputs: RunOutputs
  readonly #inFlight = new InFlightCounter()
  readonly #failures: RunFailures
  readonly #openCalls = new Set<HaltableWait>()
  readonly #continueWork = (): void => this.#work()
  readonly #abort = (): void => this.#cancel()
  readonly #aborter: RunAborter
  #state: RunState = 'running'
  /** The number of nodes not yet closed. */
  #openNodes: number
  #waitingFirings: WaitingFiring[] | null = null
  #services: NodeServices | null = null
  #hasBegun = false
  /** The number of root nodes already scheduled. */
  #rootsScheduled = 0
  #isWorking = false
  #outcome: RunOutcome | null = null
  #done: PromiseWithResolvers<RunOutcome> | null = null

  constructor(plan: Plan, options: GraphRunOptions) {
    this.#plan = plan
    this.#options = options
    this.inboxLimit = options.inboxLimit
    this.inboxWeight = Math.max(MIN_EDGE_WEIGHT, MAX_EDGES_WEIGHT / (1 + plan.streamEdges))
    this.clock = options.clock
    this.#aborter = new RunAborter(options.signal, options.clock)
    this.observer = options.observer
    this.#failures = new RunFailures(options.observer, options.durability?.journal ?? null)
    this.random = options.random
    this.durability = options.durability
    this.run = options.resources
    const { memory } = options.resources
    this.memoryAccount = new RunMemoryAccount(memory)
    // The first run is the root, which no other run calls.
    memory.holder ??= this
    this.#streamedInputs = new StreamedInputs(plan, options.params)
    this.#outputs = new RunOutputs(plan)
    this.#executors = new Array(plan.nodes.length)
    this.#updates = Map.groupBy(options.updates, ({ node_id }) => node_id)
    this.regions = plan.regions && new RunRegions(plan.regions, (member) => this.schedule(member as Schedulable))
    this.#scheduler = new Scheduler((node) => this.#executorOf(node), options.resources)
    this.#openNodes = plan.nodes.length
    this.durability?.waitRegistry?.addRun(this)
  }

  /** Starts the run. A run without asynchronous work is over when this returns. */
  start(): void {
    this.#hasBegun = true
    const { signal, timeLimitMs } = this.#options
    const known = this.#failures.recallError()
    if (known) {
      this.#endWithKnownError(known)
      return
    }
    if (signal.aborted) {
      this.#cancel()
      return
    }
    signal.addEventListener('abort', this.#abort)
    if (timeLimitMs !== null) this.#aborter.limitTime(timeLimitMs, () => this.#timeOut(timeLimitMs))
    this.#work()
  }

  halt(): void {
    if (this.#state !== 'running') return
    this.#stop('cancelling')
    if (!this.#isWorking) this.#endIfOver()
  }

  /** Aborts when firings in flight should end. */
  get signal(): AbortSignal {
    return this.#aborter.signal
  }

  get outcome(): RunOutcome | null {
    return this.#outcome
  }

  get done(): Promise<RunOutcome> {
    if (this.#outcome) return Promise.resolve(this.#outcome)
    this.#done ??= Promise.withResolvers()
    return this.#done.promise
  }

  pushInput(name: string, value: unknown, handle?: string): PushResult {
    return this.#changeInput(name, handle, 'not_running', (input) => pushValue(input, value, this.#hasBegun))
  }

  endInput(name: string, handle?: string): PushResult {
    return this.#changeInput(name, handle, 'ok', endStream)
  }

  previewPush(name: string, value: unknown, handle: string | undefined, inTransit: InputsInTransit): PushResult {
    return this.stopped ? 'not_running' : this.#streamedInputs.previewPush(name, value, handle, inTransit)
  }

  previewEnd(name: string, handle: string | undefined): PushResult {
    const input = this.stopped ? 'not_running' : this.#streamedInputs.find(name, handle)
    return typeof input === 'string' ? input : 'ok'
  }

  appendInput(name: string, value: unknown): void {
    this.#changeInput(name, undefined, 'not_running', (input) => appendValue(input, value))
  }

  answer(firing: string, value: unknown): boolean {
    return !this.stopped && this.durability?.waitRegistry?.answer(firing, value) === true
  }

  updateProperties(node_id: string, values: InputValues): number {
    return this.#executorOf(this.#plan.indexById.get(node_id)!).update(values)
  }

  // — services for nodes —

  get stopped(): boolean {
    return this.#state !== 'running'
  }

  schedule(executor: Schedulable): void {
    this.#scheduler.schedule(executor)
  }

  *createTargetSteps({ ports }: PlanNode): Steps<void> {
    for (const { targets } of ports) yield* forEachSteps(targets, ({ node }) => this.#executorOf(node))
  }

  runLast(work: () => void): void {
    this.#scheduler.runLast(work)
  }

  admit(executor: Schedulable): boolean {
    return this.#scheduler.admit(executor)
  }

  filled(inbox: Inbox): void {
    this.#scheduler.filled(inbox)
  }

  freed(inbox: Inbox): void {
    this.#scheduler.freed(inbox)
  }

  onUnsubscribed(inbox: Inbox): void {
    this.#executorOf(inbox.slot.source).onConsumerUnsubscribed()
  }

  onResubscribed(inbox: Inbox): void {
    this.#executorOf(inbox.slot.source).onConsumerResubscribed()
  }

  unsubscribedLevel(node: number, slot: number): number {
    return this.#executorOf(node).unsubscribedLevel(slot)
  }

  onTokenSent(edge_id: string, inbox: Inbox | null, token: unknown): void {
    reportEdgeProgress(this.observer, this.#scheduler.time, edge_id, inbox, token)
  }

  onWorkBegun(holdsPlace: boolean): void {
    this.#inFlight.begin(holdsPlace)
    if (holdsPlace) this.#options.resources.takePermit()
  }

  onPermitReleased(): void {
    this.#inFlight.release()
    this.#options.resources.releasePermit()
    this.#scheduler.runLater(this.#continueWork)
  }

  onWorkEnded(heldPlace: boolean, settle: () => void): void {
    this.#inFlight.end(heldPlace)
    if (heldPlace) this.#options.resources.releasePermit()
    // A firing that continues in `settle` is not counted yet and may release its permit, so the run must not end meanwhile.
    this.#isWorking = true
    try {
      settle()
    } catch (fault) {
      this.breakDown(fault)
    }
    this.#isWorking = false
    this.#work()
    this.#options.resources.wakeWaiters()
  }

  context(executor: RunParticipant, own?: FiringContextOptions): NodeContext {
    return new FiringContext(executor.node, this, own)
  }

  onWaitingChanged(still: boolean): void {
    this.#inFlight.countWaiting(still)
    if (still) this.durability?.waitRegistry?.suspendIfIdle()
  }

  registerWait(
    executor: RunParticipant,
    record: FiringRecord,
    request: WaitRequest,
    isJournaled: boolean,
    answer: (value: unknown) => void,
  ) {
    this.#inFlight.waitingFirings++
    let isWaiting = true
    const release = record.wait(request, isJournaled, (value) => {
      if (this.stopped) return false
      leave()
      this.#resumeFiring(executor, () => answer(value))
      return true
    })
    const leave = () => {
      if (!isWaiting) return
      isWaiting = false
      this.#inFlight.waitingFirings--
      release()
    }
    return leave
  }

  interrupt(executor: RunParticipant, error: NodeInterruptedError, path: IndexPath): void {
    this.fail(executor, error, path)
    this.#endIfOver()
  }

  updatesFor({ node }: RunParticipant): readonly NodeUpdate[] {
    return this.#updates.get(node.observed.node_id) ?? NO_UPDATES
  }

  resolveInputs(executor: RunParticipant, constants: InputValues): InputValues {
    return resolveInputNodeValues(executor.node, this.#options.params, constants)
  }

  openStreamedInput(executor: RunParticipant): ItemSource {
    return this.#streamedInputs.openSource(executor.node)
  }

  onNodeBegan(executor: RunParticipant): void {
    this.observer.nodeUpdated(executor.node.observed, 'running')
  }

  /** Counts an output value and prepares a large one; null if it is ready. @throws NodeError `too_large` beyond the limit */
  prepareOutput({ node }: RunParticipant, value: unknown): Promise<void> | null {
    const { name } = node.output!
    const isSmall = this.#outputs.countSize(value) < LARGE_OUTPUT && !containsBytes(value)
    if (isSmall && !this.observer.holdsMuch?.(name)) return null
    return this.observer.prepareOutput?.(node.observed, name, value) ?? null
  }

  publish({ node }: RunParticipant, value: unknown): void {
    const { name, type } = node.output!
    this.memoryAccount.add(value, estimateWeight(value))
    this.#outputs.add(name, value)
    this.observer.output(node.observed, name, value, type)
  }

  prepareResult({ node, lastFailureMessage }: RunParticipant, result: OutputValues): Promise<void> | null {
    if (lastFailureMessage !== null) return null
    return this.observer.prepareResult?.(node.observed, { result, streamed: node.streamedOutputs }) ?? null
  }

  onNodeFinished({ node, lastFailureMessage }: RunParticipant, fired: boolean, result: OutputValues): void {
    this.#openNodes--
    this.#executors[node.index] = CLOSED_PARTICIPANT
    if (node.input?.stream) this.#streamedInputs.endInput(node)
    if (lastFailureMessage !== null) this.observer.nodeUpdated(node.observed, 'error', { error: lastFailureMessage })
    else if (fired) this.observer.nodeUpdated(node.observed, 'completed', { result, streamed: node.streamedOutputs })
    else this.observer.nodeUpdated(node.observed, 'skipped')
    if (node.output) this.observer.outputDone?.(node.observed, node.output.name)
  }

  fail(executor: RunParticipant, error: unknown, path: IndexPath): FailureToken | null {
    if (this.#state !== 'running') return null
    return this.#failures.catchOrStop(executor, error, path, () => this.#stop('failing'))
  }

  restoreFailure(executor: RunParticipant, failure: CaughtFailure): FailureToken {
    return this.#failures.restoreCaught(executor, failure)
  }

  // — services for contexts —

  get settled(): boolean {
    return this.#state === 'settled'
  }

  get compute(): ComputeAccess {
    return this.#options.services.compute
  }

  get timeSlice(): TimeSlice {
    return this.#options.resources.timeSlice
  }

  get owner(): string {
    return this.#options.services.owner
  }

  get services(): NodeServices {
    const { services, durability } = this.#options
    this.#services ??= durability?.journal ? new DurableServices(services, durability.journal, this) : services
    return this.#services
  }

  get aborted(): boolean {
    return this.#aborter.aborted
  }

  get isIdle(): boolean {
    if (this.#state !== 'running' || !this.#hasBegun || this.#isWorking || this.#openNodes === 0) return false
    return this.#inFlight.isQuiescent && this.#scheduler.isQuiet
  }

  /** Whether the run is idle, and all its calls are quiescent. */
  get isQuiescent(): boolean {
    return this.isIdle && [...this.#openCalls].every(({ isQuiescent }) => isQuiescent)
  }

  get hasLeftovers(): boolean {
    return this.#inFlight.hasLeftovers
  }

  suspend(waiting: WaitingFiring[], leftovers: boolean): void {
    this.#waitingFirings = waiting
    this.#stop('suspending')
    if (leftovers) this.#abortFirings(new NodeError('The run is suspended.', 'cancelled'))
    else this.#settle()
  }

  /** While it waits for a called workflow, a firing lends its permit to the firings inside. */
  async callWorkflow(
    node: ObservedNode,
    workflow_id: string,
    params: Record<string, unknown>,
    site: FiringCallSite,
  ): Promise<OutputValues> {
    const { resources, callWorkflow } = this.#options
    return withoutPermit(resources, async () => {
      // Checked only now: the firing that got the permit may have failed the run, which halts no later call.
      if (this.stopped) throw new NodeError('The run has stopped.', 'cancelled')
      return callWorkflow(node, workflow_id, params, this.#openCalls, site)
    })
  }

  attemptHost({ node }: RunParticipant, record: FiringRecord | null): AttemptHost {
    const run = this
    return {
      signal: this.signal,
      clock: this.clock,
      get stopped() {
        return run.stopped
      },
      get isQuiescent() {
        return record?.isQuiescent === true
      },
      log: (severity, content) => {
        if (!this.settled) this.observer.log(node.observed, severity, content)
      },
      backOff: async (ms) => {
        if (this.stopped) throw new NodeError('The run has stopped.', 'cancelled')
        await sleepWithoutPermit(ms, this.clock, this.#options.resources, this.#openCalls)
      },
    }
  }

  // — work —

  /** Resumes an answered firing; its node soon gets a turn. */
  #resumeFiring(executor: RunParticipant, answer: () => void): void {
    try {
      answer()
    } catch (fault) {
      this.breakDown(fault)
    }
    this.schedule(executor)
    this.#scheduler.runLater(this.#continueWork)
  }

  #executorOf(node: number): Schedulable {
    const known = this.#executors[node]
    if (known) return known
    const executor = new NodeExecutor(this.#plan.nodes[node]!, this)
    this.#executors[node] = executor
    return executor
  }

  #changeInput(
    name: string,
    handle: string | undefined,
    whenEnded: PushResult,
    change: (input: StreamedInput) => PushResult,
  ): PushResult {
    if (this.stopped) return 'not_running'
    const input = this.#streamedInputs.find(name, handle)
    if (typeof input === 'string') return input
    if (hasInputEnded(input)) return whenEnded
    const result = change(input)
    this.schedule(this.#executorOf(input.node.index))
    this.#scheduler.runLater(this.#continueWork)
    return result
  }

  #work(): void {
    if (this.#isWorking || this.#state === 'settled') return
    this.#isWorking = true
    try {
      if (!this.stopped && (this.#scheduleRoots() || this.#scheduler.work(() => this.stopped)))
        this.#scheduler.runLater(this.#continueWork)
    } catch (fault) {
      this.breakDown(fault)
    }
    this.#isWorking = false
    this.#endIfOver()
  }

  /** Schedules the root nodes within the time slice, as creating very many takes long. True: there are more. */
  #scheduleRoots(): boolean {
    const { roots } = this.#plan
    while (this.#hasBegun && this.#rootsScheduled < roots.length) {
      this.schedule(this.#executorOf(roots[this.#rootsScheduled++]!))
      if (this.#rootsScheduled % NODES_PER_TIME_CHECK === 0 && this.timeSlice.isUsedUp(performance.now()))
        return this.#rootsScheduled < roots.length
    }
    return false
  }

  /** The engine itself, or an observer, threw: the run cannot continue safely. */
  breakDown(fault: unknown): void {
    if (this.#state === 'running') {
      this.#stop('failing')
      this.#failures.error = {
        node_id: '',
        type: 'internal_error',
        message: 'The run failed because of an internal error. The log says why.',
      }
    }
    try {
      this.observer.fault(this.#plan.nodes[0]?.observed ?? NO_NODE, fault, false)
    } catch {
      // The observer failed as well; the outcome still reports the failure.
    }
  }

  // — the end —

  /** Nothing new begins, in called workflows neither. */
  #stop(state: 'failing' | 'cancelling' | 'suspending'): void {
    this.#state = state
    this.#haltCalls()
  }

  /** Halts all calls. Waiting calls end in time slices, as there may be very many. */
  #haltCalls(): void {
    const calls = [...this.#openCalls]
    for (const call of calls) call.halt()
    void this.#wakeCalls(calls)
  }

  /** The work of each woken call falls between two turns, and counts. */
  async #wakeCalls(calls: readonly HaltableWait[]): Promise<void> {
    for (const call of calls) {
      await this.timeSlice.waitForTurn()
      call.wake()
    }
  }

  /** The run had failed before an interruption: it only has to settle. */
  #endWithKnownError({ node_id, message }: RunError): void {
    this.#stop('failing')
    const node = this.#plan.nodes[this.#plan.indexById.get(node_id) ?? -1]
    try {
      if (node) this.#failures.reportError(node.observed, message)
    } catch (fault) {
      this.breakDown(fault)
    }
    this.#settle()
  }

  #cancel(): void {
    if (this.#state === 'settled' || this.#aborter.aborted) return
    if (this.#state === 'running') this.#stop('cancelling')
    this.#abortFirings(this.#options.signal.reason)
  }

  #timeOut(ms: number): void {
    if (this.#aborter.aborted) return
    const error = new NodeError(`The run did not finish within ${ms / 1000} s.`, 'timed_out')
    if (this.#state === 'running' && this.#openNodes > 0) {
      this.#stop('failing')
      this.#failures.error = { node_id: '', type: error.type, message: error.message }
    }
    this.#abortFirings(error)
  }

  /** The run, with its calls, exceeds its memory limit; null: all runs of its owner together exceed theirs. */
  onMemoryExceeded(limit_bytes: number | null): void {
    if (this.#aborter.aborted) return
    const error = new NodeError(
      limit_bytes === null ? OWNER_MEMORY_EXCEEDED : describeMemoryExceeded(limit_bytes),
      'too_large',
    )
    if (this.#state === 'running') {
      this.#stop('failing')
      this.#failures.error = { node_id: '', type: error.type, message: error.message }
    }
    this.#abortFirings(error)
  }

  #abortFirings(reason: unknown): void {
    this.#aborter.abort(reason, () => this.#settle())
    this.#haltCalls()
    if (!this.#isWorking) this.#endIfOver()
  }

  #endIfOver(): void {
    if (this.#state === 'settled') return
    if (this.#state === 'running' && this.#isStuck()) {
      this.breakDown(new Error(`${this.#openNodes} nodes are open, but none can continue`))
    }
    if (this.#state === 'running' && this.#openNodes > 0) {
      if (this.#scheduler.hasStarved) this.#options.resources.addWaiter(this.#continueWork)
      else this.durability?.waitRegistry?.suspendIfIdle()
    } else if (this.#inFlight.isEmpty) this.#settle()
    // Every node is closed, but unwanted work is still in flight: aborts it.
    else if (this.#state === 'running' && !this.#aborter.aborted)
      this.#abortFirings(new NodeError('The run is over.', 'cancelled'))
  }

  /** Nodes are open, but no work is in flight and none can arrive. No graph should cause this. */
  #isStuck(): boolean {
    if (this.#openNodes === 0 || !this.#inFlight.isEmpty || this.#inFlight.waitingFirings > 0) return false
    return !this.#scheduler.isPending && !this.#scheduler.hasStarved && !this.#streamedInputs.isAnyOpen
  }

  #createOutcome(): RunOutcome {
    const { error } = this.#failures
    if (error) return { status: 'failed', error }
    if (this.#waitingFirings) return { status: 'suspended', waiting: this.#waitingFirings }
    if (this.#state === 'cancelling') return { status: 'cancelled' }
    return { status: 'completed', outputs: this.#outputs.valuesByName }
  }

  #settle(): void {
    if (this.#state === 'settled') return
    const outcome = this.#createOutcome()
    this.#state = 'settled'
    this.#options.signal.removeEventListener('abort', this.#abort)
    this.#aborter.close()
    this.#options.resources.removeWaiter(this.#continueWork)
    for (const executor of this.#executors) if (executor && !executor.closed) executor.abandon()
    this.#scheduler.clear()
    this.memoryAccount.close()
    this.#outcome = outcome
    this.#done?.resolve(outcome)
  }
}

const OWNER_MEMORY_EXCEEDED =
  'Your runs together hold more values than the server has room for. Run fewer at the same time, or process less data at once.'

function describeMemoryExceeded(limit_bytes: number): string {
  const most = Math.floor(limit_bytes / 1_048_576).toLocaleString('en')
  return `The run holds more than ${most} MiB of values at once, which is the limit. Process less data at once, or in parts.`
}
