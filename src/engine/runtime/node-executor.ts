// One node in one run: takes its turns, in which it reads its inputs and fires, and closes when all is sent. The scheduler decides when.

import type { Steps } from '../../shared/time-slices.ts'
import type { PlanNode } from '../compile/plan.ts'
import type { NodeUpdate } from '../durability/journal.ts'
import type { InputValues } from '../node-api/firing-forms.ts'
import { AggregateReader } from './firings/aggregate-reader.ts'
import { isSmallToken } from './firings/cost.ts'
import { ItemSource } from './firings/firing.ts'
import { FiringLauncher } from './firings/firing-launcher.ts'
import { InputReader } from './firings/input-reader.ts'
import { checkInputsSteps, findInputFailure } from './firings/inputs.ts'
import { LoopState } from './firings/loop-state.ts'
import { NodeCodeRunner } from './firings/node-code-runner.ts'
import { OutputPublisher } from './firings/output-publisher.ts'
import { ReorderBuffer } from './firings/reorder-buffer.ts'
import { StreamOperatorState } from './firings/stream-operator-state.ts'
import { prepareNodeResult, reportNodeBegin, reportNodeEnd } from './run/node-status.ts'
import type { FiringParticipant } from './run/participant.ts'
import type { RunHost } from './run/run-host.ts'
import { type RegionDemand, StreamLimit } from './streams/demand.ts'
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

const NO_UPDATES: readonly NodeUpdate[] = []

/** Work in slices fails if the run was aborted; its result is then not used. */
const ignoreAbort = () => {}

export class NodeExecutor implements FiringParticipant {
  readonly node: PlanNode
  isQueued = false
  fullInboxes = 0
  lastFailureMessage: string | null = null
  failureCount = 0
  closed = false
  readonly region: RegionDemand | null
  readonly bound: StreamLimit | null
  readonly #host: RunHost
  readonly canRunInWorker: boolean
  mayBeHeavy: boolean
  readonly #inputs: InputReader
  readonly #codeRunner: NodeCodeRunner
  readonly #reorderBuffer: ReorderBuffer
  readonly #aggregate: AggregateReader | null
  readonly #sideInputs: SideInputs | null
  readonly #streamOperator: StreamOperatorState | null
  readonly #loop: LoopState | null
  readonly #publisher: OutputPublisher | null
  /** Null if its firings are of another kind. */
  readonly #launcher: FiringLauncher | null
  #hasFired = false
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
    this.bound = inner && node.opensStream ? new StreamLimit(this.region!, this, host.edges.inboxLimit) : null
    if (!inner) this.region?.addReader(this)
    const updates = host.updates.get(node.observed.node_id) ?? NO_UPDATES
    this.canRunInWorker = node.type.cost !== 0 && host.compute.takes(node.type)
    this.mayBeHeavy = node.mayBeHeavy || updates.length > 0
    const codeRunner = new NodeCodeRunner(this, host)
    const reorderBuffer = new ReorderBuffer(this, host, codeRunner)
    const parts = { executor: this, host, codeRunner, reorderBuffer }
    this.#codeRunner = codeRunner
    this.#reorderBuffer = reorderBuffer
    this.#inputs = new InputReader(node, host.edges, codeRunner, updates)
    this.#aggregate = node.readDepth > node.depth ? new AggregateReader(parts, this.#inputs) : null
    this.#sideInputs = node.sideSlots.length > 0 ? new SideInputs(node, host.edges, inner ? null : this.region) : null
    this.#streamOperator =
      node.type.streamOperator && this.#sideInputs ? new StreamOperatorState(node, codeRunner, this.#sideInputs) : null
    this.#loop = node.type.loop && this.#sideInputs ? new LoopState(node, codeRunner, this.#sideInputs) : null
    this.#publisher = node.output ? new OutputPublisher(parts) : null
    const isPlain = !(this.#aggregate || this.#streamOperator || this.#loop || this.#publisher)
    this.#launcher = isPlain ? new FiringLauncher(parts) : null
    this.#hasTargetsToCreate = node.ports.some(({ targets }) => targets.length > MANY_EDGES)
  }

  receive(slot: number, token: unknown): void {
    if (this.canRunInWorker && !isSmallToken(token)) this.mayBeHeavy = true
    if (!this.#sideInputs?.has(slot)) {
      if (this.#inputs.join.receive(slot, token)) this.#host.scheduler.schedule(this)
    } else if (!this.closed) {
      if (this.#loop) this.#loop.receive(slot, token)
      else this.#sideInputs.receive(slot, token)
      this.#host.scheduler.schedule(this)
    }
  }

  unsubscribedLevel(slot: number): number {
    return this.#sideInputs?.has(slot)
      ? this.#sideInputs.unsubscribedLevel(slot)
      : this.#inputs.join.unsubscribedLevel(slot)
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
      if (this.mayBeHeavy && left % STEPS_PER_CLOCK_READ === 0 && performance.now() - began > TARGET_TURN_MS) break
    }
    if (!this.closed) this.#host.scheduler.schedule(this)
  }

  adjustPace(ms: number): void {
    if (ms > TARGET_TURN_MS) this.#batch = Math.max(1, this.#batch >> 1)
    else if (ms < TARGET_TURN_MS / 2 && this.#batch < MAX_STEPS_PER_TURN) this.#batch *= 2
  }

  update(values: InputValues): number {
    this.mayBeHeavy = true
    return this.#inputs.propertyValues.update(values)
  }

  onConsumerUnsubscribed(): void {
    if (++this.#unsubscribedConsumers < this.node.fanOut) return
    this.#isReliefDue = true
    this.#host.scheduler.schedule(this)
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
    const lacking = joinedSlots.filter((slot) => this.#inputs.join.isMissing(slot)).map((slot) => slots[slot]!.source)
    return side ? [...lacking, ...side.missingSources] : lacking
  }

  abandon(): void {
    this.#reorderBuffer.abandon()
    this.#streamOperator?.abandon()
    this.#inputs.join.clear()
  }

  /** Sends a result that is due, or reads and fires. False: it has to wait. */
  #step(): boolean {
    if (this.#host.state.stopped || this.closed) return false
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
    if (this.#inputs.haveEnded || !this.#inputs.join.isReady || this.#isTakingIn || !this.#reorderBuffer.hasRoom)
      return false
    if (this.#streamOperator && !this.#sideInputs!.isReady) return false
    if (this.#hasTargetsToCreate) {
      this.#createTargets()
      return false
    }
    if (!this.#codeRunner.canBegin()) return false
    this.#read()
    return true
  }

  #createTargets(): void {
    this.#hasTargetsToCreate = false
    this.pauseForSteps(this.#host.executors.createTargetSteps(this.node), () => {})
  }

  /** Handles that no consumer wants the outputs up to the end of the stream of a level: the earliest that an edge waits for. */
  #unsubscribeInputs(): void {
    this.bound?.lift()
    const targets = this.node.ports.flatMap((port) => port.targets)
    let level = 0
    for (const { node, slot } of targets) level = Math.max(level, this.#host.executors.of(node).unsubscribedLevel(slot))
    if (level > this.node.depth) {
      if (this.#reorderBuffer.cutStream()) this.#streamOperator?.cutStream()
      return
    }
    if (this.#reorderBuffer.dropUntil(level)) return
    this.#aggregate?.drop()
    this.#streamOperator?.dropUntil(level)
    this.#inputs.join.unsubscribe(level)
  }

  #read(): void {
    const end = this.#streamOperator ? this.#streamOperator.nextEnd : this.#inputs.join.nextEnd()
    if (this.#aggregate && (end === null || end.level === this.node.readDepth)) this.#aggregate.read(end)
    else if (end) this.#passEnd(end)
    else if (this.#streamOperator) this.#readStreams(this.#streamOperator)
    else this.#readItem()
  }

  #passEnd(end: StreamEndToken): void {
    this.#streamOperator?.passEnd()
    this.#inputs.readEnd(end)
    this.#codeRunner.position?.endStream(end.level)
    this.#reorderBuffer.passEnd(end)
  }

  #readItem(): void {
    this.#inputs.advance()
    const steps = checkInputsSteps(this.node, this.#inputs.join)
    if (steps) this.pauseForSteps(steps, () => this.#gatherAndFire())
    else this.#gatherAndFire()
  }

  #gatherAndFire(): void {
    if (this.#host.state.stopped) return
    const inputs = this.#inputs.gather()
    if (inputs && !(inputs instanceof FailureToken)) this.#fire(inputs)
    else if (!this.#host.state.stopped) this.#reorderBuffer.addResult(inputs)
  }

  #readStreams(streamOperator: StreamOperatorState): void {
    this.#inputs.advance()
    const inputs = streamOperator.isSkipped ? findInputFailure(this.node, this.#inputs.join) : this.#inputs.gather()
    if (this.#host.state.stopped) return
    if (inputs && !(inputs instanceof FailureToken)) this.reportBegin()
    this.#openItems(streamOperator.begin(inputs))
    if (this.isUnwanted && this.#reorderBuffer.cutStream()) streamOperator.cutStream()
  }

  reportBegin(): void {
    if (this.#hasFired) return
    this.#hasFired = true
    reportNodeBegin(this.#host.observer, this.node)
  }

  #fire(inputs: InputValues): void {
    this.reportBegin()
    if (this.#publisher) this.#publisher.publish(inputs.value)
    else if (this.node.input?.stream) this.#reorderBuffer.addStream(this.#host.streamedInputs.openSource(this.node))
    else if (this.#loop) this.#openItems(this.#loop.begin(inputs))
    else this.#launcher!.launch(inputs)
  }

  /** Adds the items of a firing, or the result of a firing that did not take place. */
  #openItems(items: ItemSource | FiringResult): void {
    if (this.#host.state.stopped) return
    if (items instanceof ItemSource) this.#reorderBuffer.addStream(items)
    else this.#reorderBuffer.addResult(items)
  }

  pauseForSteps(steps: Steps<unknown>, then: () => void): void {
    this.pauseReading(this.#host.environment.inSlices(steps).then(ignoreAbort, ignoreAbort), then)
  }

  pauseReading(work: Promise<void>, then: () => void): void {
    this.#isPreparing = true
    this.#codeRunner.awaitWork(work, null, () => {
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
      !this.#inputs.haveEnded ||
      this.#openFiring ||
      this.#isPreparing ||
      !this.#reorderBuffer.isEmpty ||
      this.#host.state.stopped
    )
      return
    const preparing = this.#prepareResult()
    // After the pause this method is called again.
    if (preparing) return this.pauseReading(preparing, () => {})
    this.closed = true
    this.#inputs.join.clear()
    // A loop ignores the ends that return along its feedback edges, so their end is reported here.
    if (this.#loop) this.#sideInputs!.reportEnd()
    this.#host.executors.close(this.node)
    if (this.node.input?.stream) this.#host.streamedInputs.endInput(this.node)
    reportNodeEnd(this.#host.observer, this, this.#hasFired, this.#reorderBuffer.lastOutputs)
  }

  /** Null if there is nothing to wait for. */
  #prepareResult(): Promise<void> | null {
    if (!this.#hasFired || this.#isResultReady) return null
    this.#isResultReady = true
    return prepareNodeResult(this.#host.observer, this, this.#reorderBuffer.lastOutputs)
  }
}
