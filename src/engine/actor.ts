// One node in one run: reads its join in lock step and fires. When it may do so is the scheduler's business.
import { AggregateState } from './aggregate-state.ts'
import { attempts } from './attempts.ts'
import { type RegionDemand, StreamBound } from './demand.ts'
import { extraBytesSteps, takesExtraSteps } from './extra-bytes.ts'
import { ItemSource, isThenable } from './firing.ts'
import { failureAmong, gather, lookSteps } from './gather.ts'
import { isHeavy, isSmall } from './heavy.ts'
import { Join } from './join.ts'
import { LoopState } from './loop-state.ts'
import { memoryOf } from './measure.ts'
import type { Memo } from './memo.ts'
import type { Inputs, NodeContext, Outputs, RunResult } from './node-type.ts'
import type { Result } from './outbox.ts'
import { OwnValues } from './own-values.ts'
import { PassingSteps } from './passing-steps.ts'
import type { Member, Stage } from './performer.ts'
import type { AttemptPolicy, PlanNode } from './plan-parts.ts'
import { replay } from './replay.ts'
import { checkedPublic } from './results.ts'
import { ResultsWindow } from './results-window.ts'
import { Sides } from './sides.ts'
import { Tasks } from './tasks.ts'
import { type End, Failure } from './tokens.ts'
import { WeaveState } from './weave-state.ts'
import { whileHeld } from './while-held.ts'

/** How many steps an actor takes at most before it lets others have their turn. */
const BATCH = 64

/** Milliseconds of a turn: a longer one ends, and is followed by shorter ones; one below half of it is followed by longer ones. */
const PACE = 2

/** How many steps are taken between two looks at the time. */
const UNLOOKED = 4

/** A node that feeds more edges has those behind them made in slices before it sends anything: each takes some microseconds. */
const MANY_EDGES = 1_000

/** Work in slices fails where its run was told to end: then nothing is done with it. */
const ended = () => {}

export class Actor implements Member {
  readonly node: PlanNode
  queued = false
  full = 0
  failed: string | null = null
  failures = 0
  closed = false
  readonly region: RegionDemand | null
  readonly bound: StreamBound | null
  readonly #stage: Stage
  readonly #join: Join
  readonly #tasks: Tasks
  readonly #results: ResultsWindow
  readonly #aggregate: AggregateState | null
  readonly #sides: Sides | null
  readonly #weave: WeaveState | null
  readonly #loop: LoopState | null
  readonly #values: OwnValues
  /** Whether its firings may run apart from the main thread. */
  readonly #apart: boolean
  /** Whether a firing may take long: all that came so far is small where it may not. */
  #mayBeHeavy: boolean
  /** Whether its firings may have to be remembered; of input nodes none has. */
  readonly #remembers: boolean
  #fired = false
  #inputsEnded = false
  /** What was read last is not taken in yet: its value is made ready to be told, or what is known of its firing is read. */
  #preparing = false
  /** Whether the stage was asked to make the result ready. */
  #isResultReady = false
  #batch = 1
  /** Whether very many nodes that it feeds may not be made yet. */
  #hasTargetsToMake: boolean
  /** How many of its consumers' inboxes drop what comes. */
  #deaf = 0
  /** Its relief is to be seen to at its next turn. */
  #relieved = false

  constructor(node: PlanNode, stage: Stage) {
    this.node = node
    this.#stage = stage
    const { regions } = stage
    this.region = regions === null ? null : regions.of(node)
    const inner = this.region !== null && regions!.isInner(node)
    this.bound = inner && node.streaming ? new StreamBound(this.region!, this, stage.inboxLimit) : null
    if (!inner) this.region?.join(this)
    this.#join = new Join(node, stage)
    this.#tasks = new Tasks(this, stage)
    this.#results = new ResultsWindow(this, stage, this.#tasks)
    this.#aggregate = node.readDepth > node.depth ? new AggregateState(node, this.#tasks) : null
    this.#sides = node.sides.length > 0 ? new Sides(node, stage, inner ? null : this.region) : null
    this.#weave = node.type.weave && this.#sides ? new WeaveState(node, this.#tasks, this.#sides) : null
    this.#loop = node.type.loop && this.#sides ? new LoopState(node, this.#tasks, this.#sides) : null
    this.#apart = node.type.cost !== 0 && stage.compute.takes(node.type)
    this.#remembers = stage.memory !== null && !node.input
    const updates = stage.updatesFor(this)
    this.#mayBeHeavy = node.mayBeHeavy || updates.length > 0
    this.#values = new OwnValues(node, updates)
    this.#hasTargetsToMake = node.ports.some(({ targets }) => targets.length > MANY_EDGES)
  }

  receive(slot: number, token: unknown): void {
    if (this.#apart && !isSmall(token)) this.#mayBeHeavy = true
    if (!this.#sides?.has(slot)) {
      if (this.#join.receive(slot, token)) this.#stage.schedule(this)
    } else if (!this.closed) {
      if (this.#loop) this.#loop.receive(slot, token)
      else this.#sides.receive(slot, token)
      this.#stage.schedule(this)
    }
  }

  deafness(slot: number): number {
    return this.#sides?.has(slot) ? this.#sides.deafness(slot) : this.#join.deafness(slot)
  }

  get unwanted(): boolean {
    return this.#deaf > 0 && this.#deaf === this.node.fanOut
  }

  failsStream(): void {
    this.#loop?.skipEcho()
  }

  turn(began: number): void {
    if (this.#relieved && this.unwanted) this.#relieve()
    this.#relieved = false
    for (let left = this.#batch; left > 0; left--) {
      if (!this.#step()) return
      // What came so far may have been small, and what comes now large.
      if (this.#mayBeHeavy && left % UNLOOKED === 0 && performance.now() - began > PACE) break
    }
    if (!this.closed) this.#stage.schedule(this)
  }

  paced(ms: number): void {
    if (ms > PACE) this.#batch = Math.max(1, this.#batch >> 1)
    else if (ms < PACE / 2 && this.#batch < BATCH) this.#batch *= 2
  }

  update(values: Inputs): number {
    this.#mayBeHeavy = true
    return this.#values.update(values)
  }

  deafened(): void {
    if (++this.#deaf < this.node.fanOut) return
    this.#relieved = true
    this.#stage.schedule(this)
  }

  heard(): void {
    this.#deaf--
    this.bound?.reset()
  }

  get obstacle(): 'consumers' | 'sources' | null {
    if (this.closed || this.queued || this.#pushing) return null
    if (this.#openSide && !this.#results.due && this.full === 0) return 'sources'
    if (this.#results.empty && this.missingSources.length > 0) return 'sources'
    return this.full > 0 && (this.#results.empty || this.#results.due || this.#openSide !== null) ? 'consumers' : null
  }

  get missingSources(): number[] {
    const side = this.#openSide ?? this.#weave
    if (this.#openSide) return this.#openSide.missing
    const { slots, joined } = this.node
    const lacking = joined.filter((slot) => this.#join.lacks(slot)).map((slot) => slots[slot]!.source)
    return side ? [...lacking, ...side.missing] : lacking
  }

  abandon(): void {
    this.#results.abandon()
    this.#weave?.abandon()
    this.#join.clear()
  }

  /** One step: sends a result that is due, or reads and fires. False: it has to wait. */
  #step(): boolean {
    if (this.#stage.stopped || this.closed) return false
    if (!this.#results.flush() && !this.#progress()) return false
    this.#closeIfDone()
    return true
  }

  /** Whether what it read last has to be taken in before it reads on. */
  get #pushing(): boolean {
    return this.#preparing || this.#aggregate?.pushing === true
  }

  /** The firing that reads its sides while it is open. */
  get #openSide(): WeaveState | LoopState | null {
    if (this.#weave?.busy) return this.#weave
    return this.#loop?.open ? this.#loop : null
  }

  #progress(): boolean {
    if (this.#weave?.busy) return this.full === 0 && this.#weave.advance()
    if (this.#loop?.open) return this.#loop.advance()
    if (this.#inputsEnded || !this.#join.ready || this.#pushing || !this.#results.hasRoom) return false
    if (this.#weave && !this.#sides!.ready) return false
    if (this.#hasTargetsToMake) {
      this.#makeTargets()
      return false
    }
    if (!this.#tasks.mayBegin()) return false
    if (this.#aggregate) this.#readAggregate(this.#aggregate)
    else if (this.#weave) this.#readWeave(this.#weave)
    else this.#read()
    return true
  }

  #makeTargets(): void {
    this.#hasTargetsToMake = false
    const steps = this.#stage.targetSteps(this.node)
    this.#after(this.#stage.context(this).inSlices(steps).catch(ended), () => {})
  }

  /** Nobody wants what it gives until the end of the stream of that level, the soonest that one of its edges awaits. */
  #relieve(): void {
    this.bound?.release()
    const targets = this.node.ports.flatMap((port) => port.targets)
    let level = 0
    for (const { node, slot } of targets) level = Math.max(level, this.#stage.deafness(node, slot))
    if (level > this.node.depth) {
      if (this.#results.cutStream()) this.#weave?.cut()
      return
    }
    if (this.#results.dropUntil(level)) return
    this.#aggregate?.drop()
    this.#weave?.forget(level)
    this.#join.deafen(level)
  }

  #read(): void {
    const end = this.#join.nextEnd()
    if (end) {
      this.#passEnd(end)
      return
    }
    this.#advance()
    if (this.node.readDepth === 0) this.#inputsEnded = true
    const steps = lookSteps(this.node, this.#join)
    if (steps) this.#after(this.#stage.context(this).inSlices(steps).catch(ended), () => this.#readOn())
    else this.#readOn()
  }

  #readOn(): void {
    if (this.#stage.stopped) return
    const inputs = this.#gather()
    if (inputs && !(inputs instanceof Failure)) this.#fire(inputs)
    else if (!this.#stage.stopped) this.#results.settle(inputs)
  }

  #readWeave(weave: WeaveState): void {
    const end = weave.nextEnd
    if (end) {
      weave.passEnd()
      this.#passEnd(end)
      return
    }
    this.#advance()
    if (this.node.depth === 0) this.#inputsEnded = true
    const inputs = weave.skipped ? failureAmong(this.node, this.#join) : this.#gather()
    if (this.#stage.stopped) return
    if (inputs && !(inputs instanceof Failure)) this.#begin()
    this.#openItems(weave.begin(inputs))
    if (this.unwanted && this.#results.cutStream()) weave.cut()
  }

  #readAggregate(aggregate: AggregateState): void {
    const end = this.#join.nextEnd()
    if (end && end.level < this.node.readDepth) {
      this.#passEnd(end)
      return
    }
    if (end) this.#join.hold()
    else this.#advance()
    const place = this.#tasks.place!
    place.whole = true
    if (!aggregate.begun) {
      const inputs = end?.skipped ? failureAmong(this.node, this.#join) : this.#gather()
      if (inputs && !(inputs instanceof Failure)) this.#begin()
      const reading = aggregate.begin(inputs)
      if (reading) {
        this.#after(reading, () => aggregate.open() && this.#goOnAggregate(aggregate, end))
        return
      }
    }
    this.#goOnAggregate(aggregate, end)
  }

  #goOnAggregate(aggregate: AggregateState, end: End | null): void {
    const place = this.#tasks.place!
    if (this.#stage.stopped) return
    if (end) this.#endAggregate(aggregate, end)
    else {
      place.whole = false
      aggregate.push(this.#join.token(this.node.drivers[0]!))
      // What is left of a stream whose firing has failed is not wanted.
      if (aggregate.failed) this.#join.deafen(this.node.readDepth)
    }
  }

  #endAggregate(aggregate: AggregateState, end: End): void {
    this.#join.passEnd(end.level)
    if (this.node.depth === 0) this.#inputsEnded = true
    const ended = aggregate.end()
    if (this.#stage.stopped) return
    if (!ended) this.#results.settle(null)
    else if (!ended.known) this.#results.take(ended.result, ended.memo)
    else if (ended.result === null) this.#results.open(new ItemSource(null, false))
    else this.#results.settle(ended.result as Result)
    this.#tasks.place!.end(end.level)
  }

  #advance(): void {
    this.#join.advance()
    this.#tasks.place?.next()
  }

  #passEnd(end: End): void {
    this.#join.passEnd(end.level)
    this.#tasks.place?.end(end.level)
    if (end.level === 1) this.#inputsEnded = true
    this.#results.passEnd(end)
  }

  /** What the present path gives: inputs, a failure in their place, or null where it gives no firing, or the run has failed. */
  #gather(): Inputs | Failure | null {
    const own = this.#values.next()
    try {
      return gather(this.node, this.#join, own)
    } catch (error) {
      return this.#tasks.fail(error)
    }
  }

  #begin(): void {
    if (this.#fired) return
    this.#fired = true
    this.#stage.began(this)
  }

  #fire(inputs: Inputs): void {
    this.#begin()
    const { node } = this
    if (node.output) {
      this.#publish(inputs.value)
    } else if (node.input?.stream) {
      this.#results.open(this.#stage.feedFor(this))
    } else if (this.#loop) {
      this.#openItems(this.#loop.begin(inputs))
    } else if (this.#remembers) {
      this.#recall(this.#tasks.remember(inputs)!)
    } else {
      const result = node.policy
        ? this.#tasks.attempt(() => this.#attempts(node.policy!, inputs))
        : this.#tasks.begin((context) => this.#run(inputs, context, this.#runsApart(inputs)))
      if (!this.#stage.stopped) this.#results.take(result)
    }
  }

  /** What is large of what is known of a firing is read before. */
  #recall(memo: Memo): void {
    const reading = memo.prepareRecall()
    if (reading) this.#after(reading, () => this.#goOn(memo))
    else this.#goOn(memo)
  }

  /** Goes on with a firing as far as it is known, or runs it. */
  #goOn(memo: Memo): void {
    const { policy } = this.node
    const { inputs } = memo
    const known = memo.recall()
    if (known && replay(memo, known, this.#results, this.#tasks)) return
    const apart = this.#runsApart(inputs)
    const code = () => (policy ? this.#attempts(policy, inputs, memo) : this.#run(inputs, memo.context!, apart))
    // Without a policy, of what runs apart nothing is remembered either: it would come out the same again.
    memo.repeatable = apart && !policy
    const result = this.#tasks.attempt(() => memo.run(code))
    if (this.#stage.stopped) return
    this.#tasks.forget(memo)
    this.#results.take(result, memo)
  }

  #run(inputs: Inputs, context: NodeContext, apart: boolean): RunResult {
    const { type, input } = this.node
    if (type.prepare) return this.#runPrepared(type.prepare(inputs, context), context)
    return apart
      ? this.#compute(inputs, context)
      : type.run!(input ? this.#stage.inputsFor(this, inputs) : inputs, context)
  }

  #runPrepared(prepared: Inputs | Promise<Inputs>, context: NodeContext): RunResult {
    if (isThenable(prepared)) return prepared.then((inputs) => this.#runPrepared(inputs, context)) as Promise<Outputs>
    const { type } = this.node
    return this.#apart && isHeavy(type, prepared) ? this.#computeHeld(prepared, context) : type.run!(prepared, context)
  }

  /** What was prepared is no value of an edge, and waits for its turn to be computed. */
  #computeHeld(prepared: Inputs, context: NodeContext): Promise<Outputs> {
    return whileHeld(memoryOf(prepared), context, () => this.#compute(prepared, context))
  }

  #compute(inputs: Inputs, { run, signal }: NodeContext): Promise<Outputs> {
    const { compute, owner } = this.#stage
    return compute.run({ node_type: this.node.type.node_type, inputs, owner, run, signal })
  }

  /** Whether a firing with these inputs would hold the thread for long, and need not run there. */
  #runsApart(inputs: Inputs): boolean {
    const { type } = this.node
    return this.#apart && this.#mayBeHeavy && !type.prepare && isHeavy(type, inputs)
  }

  #attempts(policy: AttemptPolicy, inputs: Inputs, memo: Memo | null = null): Promise<unknown> {
    const stage = this.#stage
    const steps = memo ?? new PassingSteps()
    const apart = this.#runsApart(inputs)
    const begin = (signal: AbortSignal) => this.#run(inputs, stage.context(this, { signal, memo, steps }), apart)
    return attempts(policy, begin, stage.attemptHost(this, memo), steps)
  }

  /** The items of a firing as they come, or what stands for a firing that did not take place. */
  #openItems(items: ItemSource | Result): void {
    if (this.#stage.stopped) return
    if (items instanceof ItemSource) this.#results.open(items)
    else this.#results.settle(items)
  }

  /** Whatever takes long to weigh is looked into in steps before. */
  #publish(value: unknown): void {
    try {
      checkedPublic(this.node, value)
    } catch (error) {
      this.#tasks.fail(error)
      return
    }
    if (!takesExtraSteps(value)) return this.#prepare(value)
    const looking = this.#stage.context(this).inSlices(extraBytesSteps(value))
    this.#after(looking.catch(ended), () => {
      if (!this.#stage.stopped) this.#prepare(value)
    })
  }

  #prepare(value: unknown): void {
    let preparing: Promise<void> | null
    try {
      preparing = this.#stage.prepareOutput(this, value)
    } catch (error) {
      this.#tasks.fail(error)
      return
    }
    // Its values are told in their order.
    if (preparing) this.#after(preparing, () => this.#publishNow(value))
    else this.#publishNow(value)
  }

  #publishNow(value: unknown): void {
    this.#stage.publish(this, value)
    this.#results.settle({})
  }

  /** The node reads no more until then. `preparing` does not reject. */
  #after(preparing: Promise<void>, then: () => void): void {
    this.#preparing = true
    this.#tasks.wait(preparing, null, () => {
      this.#preparing = false
      then()
      // What nobody wants any more was not there yet when that was seen to.
      if (this.unwanted) this.#relieved = true
      // Its next turn may find nothing to do.
      this.#closeIfDone()
    })
  }

  #closeIfDone(): void {
    if (!this.#inputsEnded || this.#openSide || this.#preparing || !this.#results.empty || this.#stage.stopped) return
    const preparing = this.#prepareResult()
    // It comes back here.
    if (preparing) return this.#after(preparing, () => {})
    this.closed = true
    this.#join.clear()
    // The ends that come back to a loop are no news to it.
    if (this.#loop) this.#sides!.reportEnd()
    this.#stage.finished(this, this.#fired, this.#results.last)
  }

  /** Null where there is nothing to wait for, or no longer. */
  #prepareResult(): Promise<void> | null {
    if (!this.#fired || this.#isResultReady) return null
    this.#isResultReady = true
    return this.#stage.prepareResult(this, this.#results.last)
  }
}
