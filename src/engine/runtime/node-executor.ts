// One node in one run: reads its inputs in lock step and fires. The scheduler decides when.

import type { PlanNode, RetryPolicy } from '../compile/plan.ts'
import type { FiringRecord } from '../durability/firing-record.ts'
import { replayFiring } from '../durability/firing-replay.ts'
import { InMemorySteps } from '../durability/in-memory-steps.ts'
import type { InputValues, NodeRunResult, OutputValues } from '../node-api/firing-forms.ts'
import { withHeldMemory } from '../node-api/held-memory.ts'
import type { NodeContext } from '../node-api/node-context.ts'
import { estimateMemory } from '../node-api/values/measure.ts'
import { countExtraUtf8Steps, needsUtf8Steps } from '../node-api/values/utf8-bytes.ts'
import { AggregateState } from './firings/aggregate-state.ts'
import { runAttempts } from './firings/attempts.ts'
import { isHeavyFiring, isSmallToken } from './firings/cost.ts'
import { ItemSource, isThenable } from './firings/firing.ts'
import { checkInputsSteps, findInputFailure, gatherInputs } from './firings/inputs.ts'
import { LoopState } from './firings/loop-state.ts'
import { NodeCodeRunner } from './firings/node-code-runner.ts'
import { ReorderBuffer } from './firings/reorder-buffer.ts'
import { validateOutputValue } from './firings/result-validation.ts'
import { StreamOperatorState } from './firings/stream-operator-state.ts'
import { NodePropertyValues } from './node-property-values.ts'
import type { RunHost, RunParticipant } from './run/node-interfaces.ts'
import { type RegionDemand, StreamLimit } from './streams/demand.ts'
import { InputJoin } from './streams/input-join.ts'
import { SideInputs } from './streams/side-inputs.ts'
import type { FiringResult } from './streams/token-sender.ts'
import { FailureToken, type StreamEndToken } from './streams/tokens.ts'

/** The limit of steps per turn. */
const MAX_STEPS_PER_TURN = 64

/** Target length of a turn, in milliseconds: a longer turn makes the next ones shorter; one below half of it makes them longer. */
const TARGET_TURN_MS = 2

/** The number of steps between two readings of the clock. */
const STEPS_PER_CLOCK_READ = 4

/** A node with more edges has its targets created in time slices before it sends anything: each takes some microseconds. */
const MANY_EDGES = 1_000

/** Work in slices fails if the run was aborted; its result is then not used. */
const ignoreAbort = () => {}

export class NodeExecutor implements RunParticipant {
  readonly node: PlanNode
  isQueued = false
  fullInboxes = 0
  lastFailureMessage: string | null = null
  failureCount = 0
  closed = false
  readonly region: RegionDemand | null
  readonly bound: StreamLimit | null
  readonly #host: RunHost
  readonly #inputJoin: InputJoin
  readonly #codeRunner: NodeCodeRunner
  readonly #reorderBuffer: ReorderBuffer
  readonly #aggregate: AggregateState | null
  readonly #sideInputs: SideInputs | null
  readonly #streamOperator: StreamOperatorState | null
  readonly #loop: LoopState | null
  readonly #propertyValues: NodePropertyValues
  /** Whether its firings may run outside of the main thread. */
  readonly #canRunInWorker: boolean
  /** Whether a firing may be heavy; false while all received values are small. */
  #mayBeHeavy: boolean
  /** Whether its firings may be recorded; those of input nodes are not. */
  readonly #isJournaled: boolean
  #hasFired = false
  #haveInputsEnded = false
  /** True while the last read item is being prepared: its value for publication, or the history of its firing. */
  #isPreparing = false
  /** Whether the host was asked to prepare the result. */
  #isResultReady = false
  #batch = 1
  /** Whether very many target nodes may still have to be created. */
  #hasTargetsToCreate: boolean
  /** The number of consumers whose inboxes drop tokens. */
  #unsubscribedConsumers = 0
  /** Whether its next turn must check if its inputs are still wanted. */
  #isReliefDue = false

  constructor(node: PlanNode, host: RunHost) {
    this.node = node
    this.#host = host
    const { regions } = host
    this.region = regions === null ? null : regions.regionOf(node)
    const inner = this.region !== null && regions!.isInner(node)
    this.bound = inner && node.opensStream ? new StreamLimit(this.region!, this, host.inboxLimit) : null
    if (!inner) this.region?.addReader(this)
    this.#inputJoin = new InputJoin(node, host)
    this.#codeRunner = new NodeCodeRunner(this, host)
    this.#reorderBuffer = new ReorderBuffer(this, host, this.#codeRunner)
    this.#aggregate = node.readDepth > node.depth ? new AggregateState(node, this.#codeRunner) : null
    this.#sideInputs = node.sideSlots.length > 0 ? new SideInputs(node, host, inner ? null : this.region) : null
    this.#streamOperator =
      node.type.streamOperator && this.#sideInputs
        ? new StreamOperatorState(node, this.#codeRunner, this.#sideInputs)
        : null
    this.#loop = node.type.loop && this.#sideInputs ? new LoopState(node, this.#codeRunner, this.#sideInputs) : null
    this.#canRunInWorker = node.type.cost !== 0 && host.compute.takes(node.type)
    this.#isJournaled = host.durability !== null && !node.input
    const updates = host.updatesFor(this)
    this.#mayBeHeavy = node.mayBeHeavy || updates.length > 0
    this.#propertyValues = new NodePropertyValues(node, updates)
    this.#hasTargetsToCreate = node.ports.some(({ targets }) => targets.length > MANY_EDGES)
  }

  receive(slot: number, token: unknown): void {
    if (this.#canRunInWorker && !isSmallToken(token)) this.#mayBeHeavy = true
    if (!this.#sideInputs?.has(slot)) {
      if (this.#inputJoin.receive(slot, token)) this.#host.schedule(this)
    } else if (!this.closed) {
      if (this.#loop) this.#loop.receive(slot, token)
      else this.#sideInputs.receive(slot, token)
      this.#host.schedule(this)
    }
  }

  unsubscribedLevel(slot: number): number {
    return this.#sideInputs?.has(slot)
      ? this.#sideInputs.unsubscribedLevel(slot)
      : this.#inputJoin.unsubscribedLevel(slot)
  }

  get isUnwanted(): boolean {
    return this.#unsubscribedConsumers > 0 && this.#unsubscribedConsumers === this.node.fanOut
  }

  onStreamFailed(): void {
    this.#loop?.skipEcho()
  }

  takeTurn(began: number): void {
    if (this.#isReliefDue && this.isUnwanted) this.#unsubscribeInputs()
    this.#isReliefDue = false
    for (let left = this.#batch; left > 0; left--) {
      if (!this.#step()) return
      // Earlier values may have been small, and the current one large.
      if (this.#mayBeHeavy && left % STEPS_PER_CLOCK_READ === 0 && performance.now() - began > TARGET_TURN_MS) break
    }
    if (!this.closed) this.#host.schedule(this)
  }

  adjustPace(ms: number): void {
    if (ms > TARGET_TURN_MS) this.#batch = Math.max(1, this.#batch >> 1)
    else if (ms < TARGET_TURN_MS / 2 && this.#batch < MAX_STEPS_PER_TURN) this.#batch *= 2
  }

  update(values: InputValues): number {
    this.#mayBeHeavy = true
    return this.#propertyValues.update(values)
  }

  onConsumerUnsubscribed(): void {
    if (++this.#unsubscribedConsumers < this.node.fanOut) return
    this.#isReliefDue = true
    this.#host.schedule(this)
  }

  onConsumerResubscribed(): void {
    this.#unsubscribedConsumers--
    this.bound?.reset()
  }

  get obstacle(): 'consumers' | 'sources' | null {
    if (this.closed || this.isQueued || this.#isTakingIn) return null
    if (this.#openFiring && !this.#reorderBuffer.isResultReady && this.fullInboxes === 0) return 'sources'
    if (this.#reorderBuffer.isEmpty && this.missingSources.length > 0) return 'sources'
    return this.fullInboxes > 0 &&
      (this.#reorderBuffer.isEmpty || this.#reorderBuffer.isResultReady || this.#openFiring !== null)
      ? 'consumers'
      : null
  }

  get missingSources(): number[] {
    const side = this.#openFiring ?? this.#streamOperator
    if (this.#openFiring) return this.#openFiring.missingSources
    const { slots, joinedSlots } = this.node
    const lacking = joinedSlots.filter((slot) => this.#inputJoin.isMissing(slot)).map((slot) => slots[slot]!.source)
    return side ? [...lacking, ...side.missingSources] : lacking
  }

  abandon(): void {
    this.#reorderBuffer.abandon()
    this.#streamOperator?.abandon()
    this.#inputJoin.clear()
  }

  /** Sends a result that is due, or reads and fires. False: it has to wait. */
  #step(): boolean {
    if (this.#host.stopped || this.closed) return false
    if (!this.#reorderBuffer.flush() && !this.#advanceFirings()) return false
    this.#closeIfDone()
    return true
  }

  /** Whether the last read item must be processed before the next is read. */
  get #isTakingIn(): boolean {
    return this.#isPreparing || this.#aggregate?.isPushing === true
  }

  /** The open firing that reads its side inputs. */
  get #openFiring(): StreamOperatorState | LoopState | null {
    if (this.#streamOperator?.isBusy) return this.#streamOperator
    return this.#loop?.isOpen ? this.#loop : null
  }

  #advanceFirings(): boolean {
    if (this.#streamOperator?.isBusy) return this.fullInboxes === 0 && this.#streamOperator.advance()
    if (this.#loop?.isOpen) return this.#loop.advance()
    if (this.#haveInputsEnded || !this.#inputJoin.isReady || this.#isTakingIn || !this.#reorderBuffer.hasRoom)
      return false
    if (this.#streamOperator && !this.#sideInputs!.isReady) return false
    if (this.#hasTargetsToCreate) {
      this.#createTargets()
      return false
    }
    if (!this.#codeRunner.canBegin()) return false
    if (this.#aggregate) this.#readAggregate(this.#aggregate)
    else if (this.#streamOperator) this.#readStreamOperator(this.#streamOperator)
    else this.#read()
    return true
  }

  #createTargets(): void {
    this.#hasTargetsToCreate = false
    const steps = this.#host.createTargetSteps(this.node)
    this.#waitThen(this.#host.context(this).inSlices(steps).catch(ignoreAbort), () => {})
  }

  /** Handles that no consumer wants the outputs up to the end of the stream of a level: the earliest that an edge waits for. */
  #unsubscribeInputs(): void {
    this.bound?.lift()
    const targets = this.node.ports.flatMap((port) => port.targets)
    let level = 0
    for (const { node, slot } of targets) level = Math.max(level, this.#host.unsubscribedLevel(node, slot))
    if (level > this.node.depth) {
      if (this.#reorderBuffer.cutStream()) this.#streamOperator?.cutStream()
      return
    }
    if (this.#reorderBuffer.dropUntil(level)) return
    this.#aggregate?.drop()
    this.#streamOperator?.dropUntil(level)
    this.#inputJoin.unsubscribe(level)
  }

  #read(): void {
    const end = this.#inputJoin.nextEnd()
    if (end) {
      this.#passEnd(end)
      return
    }
    this.#advanceInputs()
    if (this.node.readDepth === 0) this.#haveInputsEnded = true
    const steps = checkInputsSteps(this.node, this.#inputJoin)
    if (steps) this.#waitThen(this.#host.context(this).inSlices(steps).catch(ignoreAbort), () => this.#gatherAndFire())
    else this.#gatherAndFire()
  }

  #gatherAndFire(): void {
    if (this.#host.stopped) return
    const inputs = this.#gather()
    if (inputs && !(inputs instanceof FailureToken)) this.#fire(inputs)
    else if (!this.#host.stopped) this.#reorderBuffer.addResult(inputs)
  }

  #readStreamOperator(streamOperator: StreamOperatorState): void {
    const end = streamOperator.nextEnd
    if (end) {
      streamOperator.passEnd()
      this.#passEnd(end)
      return
    }
    this.#advanceInputs()
    if (this.node.depth === 0) this.#haveInputsEnded = true
    const inputs = streamOperator.isSkipped ? findInputFailure(this.node, this.#inputJoin) : this.#gather()
    if (this.#host.stopped) return
    if (inputs && !(inputs instanceof FailureToken)) this.#reportBegin()
    this.#openItems(streamOperator.begin(inputs))
    if (this.isUnwanted && this.#reorderBuffer.cutStream()) streamOperator.cutStream()
  }

  #readAggregate(aggregate: AggregateState): void {
    const end = this.#inputJoin.nextEnd()
    if (end && end.level < this.node.readDepth) {
      this.#passEnd(end)
      return
    }
    if (end) this.#inputJoin.holdOuterInputs()
    else this.#advanceInputs()
    const position = this.#codeRunner.position!
    position.isWholeStream = true
    if (!aggregate.hasBegun) {
      const inputs = end?.isSkipped ? findInputFailure(this.node, this.#inputJoin) : this.#gather()
      if (inputs && !(inputs instanceof FailureToken)) this.#reportBegin()
      const reading = aggregate.begin(inputs)
      if (reading) {
        this.#waitThen(reading, () => aggregate.continueOpening() && this.#continueAggregate(aggregate, end))
        return
      }
    }
    this.#continueAggregate(aggregate, end)
  }

  #continueAggregate(aggregate: AggregateState, end: StreamEndToken | null): void {
    const position = this.#codeRunner.position!
    if (this.#host.stopped) return
    if (end) this.#endAggregate(aggregate, end)
    else {
      position.isWholeStream = false
      aggregate.push(this.#inputJoin.tokenOf(this.node.driverSlots[0]!))
      // The rest of a stream is unwanted once its firing has failed.
      if (aggregate.hasFailed) this.#inputJoin.unsubscribe(this.node.readDepth)
    }
  }

  #endAggregate(aggregate: AggregateState, end: StreamEndToken): void {
    this.#inputJoin.passEnd(end.level)
    if (this.node.depth === 0) this.#haveInputsEnded = true
    const ended = aggregate.end()
    if (this.#host.stopped) return
    if (!ended) this.#reorderBuffer.addResult(null)
    else if (!ended.isReplayed) this.#reorderBuffer.takeResult(ended.result, ended.record)
    else if (ended.result === null) this.#reorderBuffer.addStream(new ItemSource(null, false))
    else this.#reorderBuffer.addResult(ended.result as FiringResult)
    this.#codeRunner.position!.endStream(end.level)
  }

  #advanceInputs(): void {
    this.#inputJoin.advance()
    this.#codeRunner.position?.nextItem()
  }

  #passEnd(end: StreamEndToken): void {
    this.#inputJoin.passEnd(end.level)
    this.#codeRunner.position?.endStream(end.level)
    if (end.level === 1) this.#haveInputsEnded = true
    this.#reorderBuffer.passEnd(end)
  }

  /** The inputs at the current path, a failure instead of them, or null if there is no firing or the run has failed. */
  #gather(): InputValues | FailureToken | null {
    const own = this.#propertyValues.takeNext()
    try {
      return gatherInputs(this.node, this.#inputJoin, own)
    } catch (error) {
      return this.#codeRunner.fail(error)
    }
  }

  #reportBegin(): void {
    if (this.#hasFired) return
    this.#hasFired = true
    this.#host.onNodeBegan(this)
  }

  #fire(inputs: InputValues): void {
    this.#reportBegin()
    const { node } = this
    if (node.output) {
      this.#publish(inputs.value)
    } else if (node.input?.stream) {
      this.#reorderBuffer.addStream(this.#host.openStreamedInput(this))
    } else if (this.#loop) {
      this.#openItems(this.#loop.begin(inputs))
    } else if (this.#isJournaled) {
      this.#prepareReplay(this.#codeRunner.createRecord(inputs)!)
    } else {
      const result = node.policy
        ? this.#codeRunner.runCode(() => this.#runAttempts(node.policy!, inputs))
        : this.#codeRunner.runFiring((context) => this.#run(inputs, context, this.#shouldRunInWorker(inputs)))
      if (!this.#host.stopped) this.#reorderBuffer.takeResult(result)
    }
  }

  /** Loads the large parts of a firing's history first. */
  #prepareReplay(record: FiringRecord): void {
    const reading = record.prepareRecall()
    if (reading) this.#waitThen(reading, () => this.#replayOrRun(record))
    else this.#replayOrRun(record)
  }

  /** Continues a firing from its history, or runs it. */
  #replayOrRun(record: FiringRecord): void {
    const { policy } = this.node
    const { inputs } = record
    const known = record.recall()
    if (known && replayFiring(record, known, this.#reorderBuffer, this.#codeRunner)) return
    const inWorker = this.#shouldRunInWorker(inputs)
    const code = () =>
      policy ? this.#runAttempts(policy, inputs, record) : this.#run(inputs, record.context!, inWorker)
    // Without a retry policy, a firing in a compute thread is not recorded either: it would give the same result again.
    record.isRepeatable = inWorker && !policy
    const result = this.#codeRunner.runCode(() => record.run(code))
    if (this.#host.stopped) return
    this.#codeRunner.reuseRecord(record)
    this.#reorderBuffer.takeResult(result, record)
  }

  #run(inputs: InputValues, context: NodeContext, inWorker: boolean): NodeRunResult {
    const { type, input } = this.node
    if (type.prepare) return this.#runPrepared(type.prepare(inputs, context), context)
    return inWorker
      ? this.#compute(inputs, context)
      : type.run!(input ? this.#host.resolveInputs(this, inputs) : inputs, context)
  }

  #runPrepared(prepared: InputValues | Promise<InputValues>, context: NodeContext): NodeRunResult {
    if (isThenable(prepared))
      return prepared.then((inputs) => this.#runPrepared(inputs, context)) as Promise<OutputValues>
    const { type } = this.node
    return this.#canRunInWorker && isHeavyFiring(type, prepared)
      ? this.#computeWithHeldMemory(prepared, context)
      : type.run!(prepared, context)
  }

  /** Prepared inputs lie on no edge, so they count as held memory while they wait for a compute thread. */
  #computeWithHeldMemory(prepared: InputValues, context: NodeContext): Promise<OutputValues> {
    return withHeldMemory(estimateMemory(prepared), context, () => this.#compute(prepared, context))
  }

  #compute(inputs: InputValues, { run, signal }: NodeContext): Promise<OutputValues> {
    const { compute, owner } = this.#host
    return compute.run({ node_type: this.node.type.node_type, inputs, owner, run, signal })
  }

  /** Whether a firing with these inputs would block the main thread for long and can run elsewhere. */
  #shouldRunInWorker(inputs: InputValues): boolean {
    const { type } = this.node
    return this.#canRunInWorker && this.#mayBeHeavy && !type.prepare && isHeavyFiring(type, inputs)
  }

  #runAttempts(policy: RetryPolicy, inputs: InputValues, record: FiringRecord | null = null): Promise<unknown> {
    const host = this.#host
    const steps = record ?? new InMemorySteps()
    const inWorker = this.#shouldRunInWorker(inputs)
    const begin = (signal: AbortSignal) => this.#run(inputs, host.context(this, { signal, record, steps }), inWorker)
    return runAttempts(policy, begin, host.attemptHost(this, record), steps)
  }

  /** Adds the items of a firing, or the result of a firing that did not take place. */
  #openItems(items: ItemSource | FiringResult): void {
    if (this.#host.stopped) return
    if (items instanceof ItemSource) this.#reorderBuffer.addStream(items)
    else this.#reorderBuffer.addResult(items)
  }

  /** Large values are measured in steps first. */
  #publish(value: unknown): void {
    try {
      validateOutputValue(this.node, value)
    } catch (error) {
      this.#codeRunner.fail(error)
      return
    }
    if (!needsUtf8Steps(value)) return this.#prepare(value)
    const measuring = this.#host.context(this).inSlices(countExtraUtf8Steps(value))
    this.#waitThen(measuring.catch(ignoreAbort), () => {
      if (!this.#host.stopped) this.#prepare(value)
    })
  }

  #prepare(value: unknown): void {
    let preparing: Promise<void> | null
    try {
      preparing = this.#host.prepareOutput(this, value)
    } catch (error) {
      this.#codeRunner.fail(error)
      return
    }
    // Values are published in their order.
    if (preparing) this.#waitThen(preparing, () => this.#publishNow(value))
    else this.#publishNow(value)
  }

  #publishNow(value: unknown): void {
    this.#host.publish(this, value)
    this.#reorderBuffer.addResult({})
  }

  /** Stops reading until `preparing` resolves; it never rejects. */
  #waitThen(preparing: Promise<void>, then: () => void): void {
    this.#isPreparing = true
    this.#codeRunner.awaitWork(preparing, null, () => {
      this.#isPreparing = false
      then()
      // The consumers may have unsubscribed before this work existed.
      if (this.isUnwanted) this.#isReliefDue = true
      // The next turn may find nothing to do.
      this.#closeIfDone()
    })
  }

  #closeIfDone(): void {
    if (
      !this.#haveInputsEnded ||
      this.#openFiring ||
      this.#isPreparing ||
      !this.#reorderBuffer.isEmpty ||
      this.#host.stopped
    )
      return
    const preparing = this.#prepareResult()
    // `#waitThen` calls this method again.
    if (preparing) return this.#waitThen(preparing, () => {})
    this.closed = true
    this.#inputJoin.clear()
    // A loop ignores the ends that return along its feedback edges, so their end is reported here.
    if (this.#loop) this.#sideInputs!.reportEnd()
    this.#host.onNodeFinished(this, this.#hasFired, this.#reorderBuffer.lastOutputs)
  }

  /** Null if there is nothing to wait for. */
  #prepareResult(): Promise<void> | null {
    if (!this.#hasFired || this.#isResultReady) return null
    this.#isResultReady = true
    return this.#host.prepareResult(this, this.#reorderBuffer.lastOutputs)
  }
}
