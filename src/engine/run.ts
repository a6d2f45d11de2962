// One run: what its nodes and its host ask of it, and how it ends. Whose turn it is, scheduler.ts says.

import { forEachStep, type Steps } from '../time-slices.ts'
import { Aborter } from './aborter.ts'
import { Actor } from './actor.ts'
import type { AttemptHost } from './attempts.ts'
import type { HaltedLater, Halting } from './call.ts'
import type { Clock } from './clock.ts'
import { type ContextHost, FiringContext, type OwnContext } from './context.ts'
import { RunRegions } from './demand.ts'
import { DurableServices } from './durable-services.ts'
import { reportToken } from './edge-report.ts'
import { Failures } from './failures.ts'
import { endOf, type Feed, Feeds, hasEnded, type PushResult, pushInto, takeInto, type Underway } from './feeds.ts'
import type { ItemSource } from './firing.ts'
import { Flight } from './flight.ts'
import { HeldValues, weightOf } from './held-values.ts'
import type { Inbox } from './inbox.ts'
import type { HeldFailure, NodeUpdate, Waiting, WaitRequest } from './journal.ts'
import { holdsBytes } from './measure.ts'
import type { Memo } from './memo.ts'
import type { Memory } from './memory.ts'
import { type Inputs, type Interrupted, type NodeContext, NodeError, type Outputs } from './node-type.ts'
import type { ObservedNode, Outcome, RunError, RunObserver } from './observer.ts'
import type { Parker } from './parking.ts'
import { CLOSED, type Member, type Performer, type Stage } from './performer.ts'
import type { Path } from './place.ts'
import type { Plan } from './plan.ts'
import type { PlanNode } from './plan-parts.ts'
import { Published } from './published.ts'
import { rest, withoutPlace } from './resting.ts'
import { paramInputs } from './results.ts'
import type { CallSite, RunOptions } from './run-options.ts'
import { Scheduler } from './scheduler.ts'
import type { ComputeAccess, NodeServices } from './services.ts'
import type { Slice } from './slice.ts'
import type { Failure } from './tokens.ts'

type State = 'running' | 'failing' | 'cancelling' | 'suspending' | 'settled'

/** About how many characters wait on the edges of a run before producers pause: in all, and on one edge at least. */
const WEIGHT = 256_000_000
const LEAST_WEIGHT = 100_000

/** So many nodes are made before it is looked at the time. */
const SOME = 64

/** In characters, about: an output value of that size may take time to be shown. So may one that holds bytes: each of them is written to a file. */
const LARGE_OUTPUT = 100_000

const NO_UPDATES: readonly NodeUpdate[] = []

const NO_NODE: ObservedNode = { node_id: '', node_name: '', node_type: '' }

export class Run implements Stage, ContextHost, Halting, Parker {
  readonly deliver = (node: number, slot: number, token: unknown): void => this.#actor(node).receive(slot, token)
  readonly inboxLimit: number
  readonly inboxWeight: number
  readonly held: HeldValues
  readonly clock: Clock
  readonly observer: RunObserver
  readonly random: () => number
  readonly memory: Memory | null
  readonly regions: RunRegions | null
  /** What it shares with the workflows that it calls, and nothing else. */
  readonly run: object
  readonly #plan: Plan
  readonly #options: RunOptions
  /** Made as soon as they have something to do, let go of when they are closed: in between alone they cost memory. */
  readonly #actors: (Performer | undefined)[]
  readonly #scheduler: Scheduler
  readonly #feeds: Feeds
  /** Those of each node that has some. */
  readonly #updates: ReadonlyMap<string, readonly NodeUpdate[]>
  readonly #published: Published
  readonly #flight = new Flight()
  readonly #failures: Failures
  readonly #calls = new Set<HaltedLater>()
  readonly #drain = (): void => this.#work()
  readonly #abort = (): void => this.#cancel()
  readonly #aborter: Aborter
  #state: State = 'running'
  /** Nodes not yet closed. */
  #open: number
  #waiting: Waiting[] | null = null
  #services: NodeServices | null = null
  #begun = false
  /** How many of the nodes without inputs have had themselves scheduled. */
  #roots = 0
  #working = false
  #outcome: Outcome | null = null
  #done: PromiseWithResolvers<Outcome> | null = null

  constructor(plan: Plan, options: RunOptions) {
    this.#plan = plan
    this.#options = options
    this.inboxLimit = options.inboxLimit
    this.inboxWeight = Math.max(LEAST_WEIGHT, WEIGHT / (1 + plan.streamEdges))
    this.clock = options.clock
    this.#aborter = new Aborter(options.signal, options.clock)
    this.observer = options.observer
    this.#failures = new Failures(options.observer, options.memory?.journal ?? null)
    this.random = options.random
    this.memory = options.memory
    this.run = options.budget
    const { memory } = options.budget
    this.held = new HeldValues(memory)
    // The first run is the one that is not called by another.
    memory.holder ??= this
    this.#feeds = new Feeds(plan, options.params)
    this.#published = new Published(plan)
    this.#actors = new Array(plan.nodes.length)
    this.#updates = Map.groupBy(options.updates, ({ node_id }) => node_id)
    this.regions = plan.regions && new RunRegions(plan.regions, (member) => this.schedule(member as Performer))
    this.#scheduler = new Scheduler((node) => this.#actor(node), options.budget)
    this.#open = plan.nodes.length
    this.memory?.parking?.join(this)
  }

  /** Begins. A run that needs no waiting is over when this returns. */
  start(): void {
    this.#begun = true
    const { signal, timeLimit } = this.#options
    const known = this.#failures.recall()
    if (known) {
      this.#endAsBefore(known)
      return
    }
    if (signal.aborted) {
      this.#cancel()
      return
    }
    signal.addEventListener('abort', this.#abort)
    if (timeLimit !== null) this.#aborter.limitTime(timeLimit, () => this.#timeOut(timeLimit))
    this.#work()
  }

  halt(): void {
    if (this.#state !== 'running') return
    this.#stop('cancelling')
    if (!this.#working) this.#endIfOver()
  }

  /** Aborts when firings in flight should end. */
  get signal(): AbortSignal {
    return this.#aborter.signal
  }

  get outcome(): Outcome | null {
    return this.#outcome
  }

  get done(): Promise<Outcome> {
    if (this.#outcome) return Promise.resolve(this.#outcome)
    this.#done ??= Promise.withResolvers()
    return this.#done.promise
  }

  pushInput(name: string, value: unknown, handle?: string): PushResult {
    return this.#feed(name, handle, 'not_running', (feed) => pushInto(feed, value, this.#begun))
  }

  endInput(name: string, handle?: string): PushResult {
    return this.#feed(name, handle, 'ok', endOf)
  }

  judgePush(name: string, value: unknown, handle: string | undefined, underway: Underway): PushResult {
    return this.stopped ? 'not_running' : this.#feeds.judgePush(name, value, handle, underway)
  }

  judgeEnd(name: string, handle: string | undefined): PushResult {
    const feed = this.stopped ? 'not_running' : this.#feeds.find(name, handle)
    return typeof feed === 'string' ? feed : 'ok'
  }

  takeInput(name: string, value: unknown): void {
    this.#feed(name, undefined, 'not_running', (feed) => takeInto(feed, value))
  }

  answer(firing: string, value: unknown): boolean {
    return !this.stopped && this.memory?.parking?.answer(firing, value) === true
  }

  takeProperties(node_id: string, values: Inputs): number {
    return this.#actor(this.#plan.indexById.get(node_id)!).update(values)
  }

  // — what its nodes ask —

  get stopped(): boolean {
    return this.#state !== 'running'
  }

  schedule(performer: Performer): void {
    this.#scheduler.schedule(performer)
  }

  *targetSteps({ ports }: PlanNode): Steps<void> {
    for (const { targets } of ports) yield* forEachStep(targets, ({ node }) => this.#actor(node))
  }

  afterOthers(work: () => void): void {
    this.#scheduler.afterOthers(work)
  }

  admit(performer: Performer): boolean {
    return this.#scheduler.admit(performer)
  }

  filled(inbox: Inbox): void {
    this.#scheduler.filled(inbox)
  }

  freed(inbox: Inbox): void {
    this.#scheduler.freed(inbox)
  }

  deafened(inbox: Inbox): void {
    this.#actor(inbox.slot.source).deafened()
  }

  heard(inbox: Inbox): void {
    this.#actor(inbox.slot.source).heard()
  }

  deafness(node: number, slot: number): number {
    return this.#actor(node).deafness(slot)
  }

  travelled(edge_id: string, inbox: Inbox | null, token: unknown): void {
    reportToken(this.observer, this.#scheduler.time, edge_id, inbox, token)
  }

  launched(holdsPlace: boolean): void {
    this.#flight.begin(holdsPlace)
    if (holdsPlace) this.#options.budget.take()
  }

  gaveBack(): void {
    this.#flight.release()
    this.#options.budget.giveBack()
    this.#scheduler.later(this.#drain)
  }

  landed(heldPlace: boolean, settle: () => void): void {
    this.#flight.end(heldPlace)
    if (heldPlace) this.#options.budget.giveBack()
    // A firing that goes on in this is not under way yet, and may give up its place: nobody asks meanwhile whether the run is over.
    this.#working = true
    try {
      settle()
    } catch (fault) {
      this.breakDown(fault)
    }
    this.#working = false
    this.#work()
    this.#options.budget.wakeWaiting()
  }

  context(performer: Member, own?: OwnContext): NodeContext {
    return new FiringContext(performer.node, this, own)
  }

  stilled(still: boolean): void {
    this.#flight.stilled(still)
    if (still) this.memory?.parking?.check()
  }

  park(performer: Member, memo: Memo, request: WaitRequest, told: boolean, answer: (value: unknown) => void) {
    this.#flight.parked++
    let parked = true
    const release = memo.wait(request, told, (value) => {
      if (this.stopped) return false
      leave()
      this.#answered(performer, () => answer(value))
      return true
    })
    const leave = () => {
      if (!parked) return
      parked = false
      this.#flight.parked--
      release()
    }
    return leave
  }

  interrupt(performer: Member, error: Interrupted, path: Path): void {
    this.fail(performer, error, path)
    this.#endIfOver()
  }

  updatesFor({ node }: Member): readonly NodeUpdate[] {
    return this.#updates.get(node.observed.node_id) ?? NO_UPDATES
  }

  inputsFor(performer: Member, constants: Inputs): Inputs {
    return paramInputs(performer.node, this.#options.params, constants)
  }

  feedFor(performer: Member): ItemSource {
    return this.#feeds.sourceOf(performer.node)
  }

  began(performer: Member): void {
    this.observer.nodeUpdated(performer.node.observed, 'running')
  }

  /** Counts what the run hands out, and has a large value made ready; null where it is. @throws NodeError where it is too much */
  prepareOutput({ node }: Member, value: unknown): Promise<void> | null {
    const { name } = node.output!
    const isSmall = this.#published.weigh(value) < LARGE_OUTPUT && !holdsBytes(value)
    if (isSmall && !this.observer.holdsMuch?.(name)) return null
    return this.observer.prepareOutput?.(node.observed, name, value) ?? null
  }

  publish({ node }: Member, value: unknown): void {
    const { name, type } = node.output!
    this.held.add(value, weightOf(value))
    this.#published.add(name, value)
    this.observer.output(node.observed, name, value, type)
  }

  prepareResult({ node, failed }: Member, result: Outputs): Promise<void> | null {
    if (failed !== null) return null
    return this.observer.prepareResult?.(node.observed, { result, streamed: node.streamed }) ?? null
  }

  finished({ node, failed }: Member, fired: boolean, result: Outputs): void {
    this.#open--
    this.#actors[node.index] = CLOSED
    if (node.input?.stream) this.#feeds.end(node)
    if (failed !== null) this.observer.nodeUpdated(node.observed, 'error', { error: failed })
    else if (fired) this.observer.nodeUpdated(node.observed, 'completed', { result, streamed: node.streamed })
    else this.observer.nodeUpdated(node.observed, 'skipped')
    if (node.output) this.observer.outputDone?.(node.observed, node.output.name)
  }

  fail(performer: Member, error: unknown, path: Path): Failure | null {
    if (this.#state !== 'running') return null
    return this.#failures.judge(performer, error, path, () => this.#stop('failing'))
  }

  failAgain(performer: Member, failure: HeldFailure): Failure {
    return this.#failures.again(performer, failure)
  }

  // — what contexts ask —

  get settled(): boolean {
    return this.#state === 'settled'
  }

  get compute(): ComputeAccess {
    return this.#options.services.compute
  }

  get slice(): Slice {
    return this.#options.budget.slice
  }

  get owner(): string {
    return this.#options.services.owner
  }

  get services(): NodeServices {
    const { services, memory } = this.#options
    this.#services ??= memory?.journal ? new DurableServices(services, memory.journal, this) : services
    return this.#services
  }

  get aborted(): boolean {
    return this.#aborter.aborted
  }

  get idle(): boolean {
    if (this.#state !== 'running' || !this.#begun || this.#working || this.#open === 0) return false
    return this.#flight.resting && this.#scheduler.quiet
  }

  /** Whether it is idle, and so is all that it called. */
  get resting(): boolean {
    return this.idle && [...this.#calls].every(({ resting }) => resting)
  }

  get leftovers(): boolean {
    return this.#flight.leftovers
  }

  suspend(waiting: Waiting[], leftovers: boolean): void {
    this.#waiting = waiting
    this.#stop('suspending')
    if (leftovers) this.#abortFirings(new NodeError('The run is suspended.', 'cancelled'))
    else this.#settle()
  }

  /** Waiting for a sub-workflow, a firing gives its place to the firings inside of it. */
  async callWorkflow(
    node: ObservedNode,
    workflow_id: string,
    params: Record<string, unknown>,
    site: CallSite,
  ): Promise<Outputs> {
    const { budget, callWorkflow } = this.#options
    return withoutPlace(budget, async () => {
      // Asked only now: whoever took the place meanwhile may have failed the run, which halts no call that comes after that.
      if (this.stopped) throw new NodeError('The run has stopped.', 'cancelled')
      return callWorkflow(node, workflow_id, params, this.#calls, site)
    })
  }

  attemptHost({ node }: Member, memo: Memo | null): AttemptHost {
    const run = this
    return {
      signal: this.signal,
      clock: this.clock,
      get stopped() {
        return run.stopped
      },
      get resting() {
        return memo?.resting === true
      },
      log: (severity, content) => {
        if (!this.settled) this.observer.log(node.observed, severity, content)
      },
      rest: async (ms) => {
        if (this.stopped) throw new NodeError('The run has stopped.', 'cancelled')
        await rest(ms, this.clock, this.#options.budget, this.#calls)
      },
    }
  }

  // — work —

  /** A firing goes on: its node has its turn soon. */
  #answered(performer: Member, answer: () => void): void {
    try {
      answer()
    } catch (fault) {
      this.breakDown(fault)
    }
    this.schedule(performer)
    this.#scheduler.later(this.#drain)
  }

  #actor(node: number): Performer {
    const known = this.#actors[node]
    if (known) return known
    const actor = new Actor(this.#plan.nodes[node]!, this)
    this.#actors[node] = actor
    return actor
  }

  #feed(
    name: string,
    handle: string | undefined,
    whenEnded: PushResult,
    change: (feed: Feed) => PushResult,
  ): PushResult {
    if (this.stopped) return 'not_running'
    const feed = this.#feeds.find(name, handle)
    if (typeof feed === 'string') return feed
    if (hasEnded(feed)) return whenEnded
    const result = change(feed)
    this.schedule(this.#actor(feed.node.index))
    this.#scheduler.later(this.#drain)
    return result
  }

  #work(): void {
    if (this.#working || this.#state === 'settled') return
    this.#working = true
    try {
      if (!this.stopped && (this.#beginRoots() || this.#scheduler.work(() => this.stopped)))
        this.#scheduler.later(this.#drain)
    } catch (fault) {
      this.breakDown(fault)
    }
    this.#working = false
    this.#endIfOver()
  }

  /** Schedules the nodes without inputs, as far as the slice goes: very many take long to make. True: there are more. */
  #beginRoots(): boolean {
    const { roots } = this.#plan
    while (this.#begun && this.#roots < roots.length) {
      this.schedule(this.#actor(roots[this.#roots++]!))
      if (this.#roots % SOME === 0 && this.slice.passed(performance.now())) return this.#roots < roots.length
    }
    return false
  }

  /** The engine itself, or an observer, threw: the run can't be trusted to go on. */
  breakDown(fault: unknown): void {
    if (this.#state === 'running') {
      this.#stop('failing')
      this.#failures.error = { node_id: '', type: 'internal_error', message: 'The run broke down. The log says why.' }
    }
    try {
      this.observer.fault(this.#plan.nodes[0]?.observed ?? NO_NODE, fault, false)
    } catch {
      // An observer that can't even hear of its own failure: the outcome still tells it.
    }
  }

  // — the end —

  /** Nothing new begins, in the workflows that it called neither. */
  #stop(state: 'failing' | 'cancelling' | 'suspending'): void {
    this.#state = state
    this.#haltCalls()
  }

  /** They begin nothing more from now on. Those that wait end in slices: there may be very many. */
  #haltCalls(): void {
    const calls = [...this.#calls]
    for (const call of calls) call.halt()
    void this.#wake(calls)
  }

  /** What each of them does about it takes its time between two of them, and counts. */
  async #wake(calls: readonly HaltedLater[]): Promise<void> {
    for (const call of calls) {
      await this.slice.turn()
      call.wake()
    }
  }

  /** It had failed before an interruption: the rest of it was only to settle. */
  #endAsBefore({ node_id, message }: RunError): void {
    this.#stop('failing')
    const node = this.#plan.nodes[this.#plan.indexById.get(node_id) ?? -1]
    try {
      if (node) this.#failures.tell(node.observed, message)
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
    const error = new NodeError(`The run was not over after ${ms / 1000} s.`, 'timed_out')
    if (this.#state === 'running' && this.#open > 0) {
      this.#stop('failing')
      this.#failures.error = { node_id: '', type: error.type, message: error.message }
    }
    this.#abortFirings(error)
  }

  /** It, and what it called, holds too much; null: all runs of its owner together do. */
  outgrow(limit_bytes: number | null): void {
    if (this.#aborter.aborted) return
    const error = new NodeError(limit_bytes === null ? NO_ROOM : holdsTooMuch(limit_bytes), 'too_large')
    if (this.#state === 'running') {
      this.#stop('failing')
      this.#failures.error = { node_id: '', type: error.type, message: error.message }
    }
    this.#abortFirings(error)
  }

  #abortFirings(reason: unknown): void {
    this.#aborter.abort(reason, () => this.#settle())
    this.#haltCalls()
    if (!this.#working) this.#endIfOver()
  }

  #endIfOver(): void {
    if (this.#state === 'settled') return
    if (this.#state === 'running' && this.#isStuck()) {
      this.breakDown(new Error(`${this.#open} nodes wait for nothing that could come`))
    }
    if (this.#state === 'running' && this.#open > 0) {
      if (this.#scheduler.starving) this.#options.budget.wait(this.#drain)
      else this.memory?.parking?.check()
    } else if (this.#flight.empty) this.#settle()
    // Every node is closed: what nobody wanted any more is under way all the same, and is told to end.
    else if (this.#state === 'running' && !this.#aborter.aborted)
      this.#abortFirings(new NodeError('The run is over.', 'cancelled'))
  }

  /** Nothing is under way and nothing can come, though nodes are open: no graph should bring this about. */
  #isStuck(): boolean {
    if (this.#open === 0 || !this.#flight.empty || this.#flight.parked > 0) return false
    return !this.#scheduler.pending && !this.#scheduler.starving && !this.#feeds.open
  }

  #result(): Outcome {
    const { error } = this.#failures
    if (error) return { status: 'failed', error }
    if (this.#waiting) return { status: 'suspended', waiting: this.#waiting }
    if (this.#state === 'cancelling') return { status: 'cancelled' }
    return { status: 'completed', outputs: this.#published.all }
  }

  #settle(): void {
    if (this.#state === 'settled') return
    const outcome = this.#result()
    this.#state = 'settled'
    this.#options.signal.removeEventListener('abort', this.#abort)
    this.#aborter.close()
    this.#options.budget.forget(this.#drain)
    for (const actor of this.#actors) if (actor && !actor.closed) actor.abandon()
    this.#scheduler.clear()
    this.held.close()
    this.#outcome = outcome
    this.#done?.resolve(outcome)
  }
}

const NO_ROOM =
  'Your runs hold as many values at once as the server has room for. Run fewer at the same time, or work on less at once, or in parts.'

function holdsTooMuch(limit_bytes: number): string {
  const most = Math.floor(limit_bytes / 1_048_576).toLocaleString('en')
  return `The run holds more than ${most} MiB of values at once, the most that it may. Work on less at once, or in parts.`
}
