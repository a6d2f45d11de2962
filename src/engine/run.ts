// The scheduler of one run: who has the next turn, how long a slice of work lasts, and how the run ends.
import { Actor, type ActorHost } from './actor.ts'
import type { Budget } from './budget.ts'
import type { Clock } from './clock.ts'
import { type ContextHost, FiringContext } from './context.ts'
import { reportToken } from './edge-report.ts'
import { Feeds, type PushResult } from './feeds.ts'
import type { ItemSource } from './firing.ts'
import type { Inbox } from './inbox.ts'
import { type Inputs, type NodeContext, NodeError, type Outputs } from './node-type.ts'
import type { ObservedNode, Outcome, RunError, RunObserver } from './observer.ts'
import type { Plan } from './plan.ts'
import { paramInputs } from './results.ts'
import { inboxToGrow } from './stall.ts'
import { applicable } from './updates.ts'

export interface RunOptions {
  params: Record<string, unknown>
  signal: AbortSignal
  observer: RunObserver
  budget: Budget
  inboxLimit: number
  clock: Clock
  random: () => number
  callWorkflow: ContextHost['callWorkflow']
}

type State = 'running' | 'failing' | 'cancelling' | 'settled'

/** Milliseconds of work before timers, sockets and cancels get their turn. */
const SLICE = 8
/** Milliseconds that firings in flight have to end after a cancel. */
const GRACE = 5000
const UNSAFE = 'The node failed. The log says why.'

export class Run implements ActorHost, ContextHost {
  readonly deliver = (node: number, slot: number, token: unknown): void => this.#actors[node]!.receive(slot, token)
  readonly #plan: Plan
  readonly #options: RunOptions
  readonly #actors: Actor[]
  readonly #feeds: Feeds
  readonly #outputs: Map<string, unknown[]>
  /** Actors in the order of their turns; those before `#head` had theirs. */
  #queue: Actor[] = []
  #head = 0
  /** Actors that wait for a place among the asynchronous firings. */
  readonly #starved = new Set<Actor>()
  readonly #full = new Set<Inbox>()
  readonly #wake = (): void => this.#drain()
  readonly #abort = (): void => this.#cancel()
  #state: State = 'running'
  #open: number
  #inFlight = 0
  #draining = false
  #listening = false
  #immediate: NodeJS.Immediate | null = null
  #grace: AbortController | null = null
  #time = 0
  #error: RunError | null = null
  #outcome: Outcome | null = null
  #done: PromiseWithResolvers<Outcome> | null = null

  constructor(plan: Plan, options: RunOptions) {
    this.#plan = plan
    this.#options = options
    this.#feeds = new Feeds(plan, options.params)
    this.#outputs = new Map(plan.outputs.map((output) => [output.name, []]))
    this.#actors = plan.nodes.map((node) => new Actor(node, this))
    this.#open = this.#actors.length
  }

  /** Begins. A run that needs no waiting is over when this returns. */
  start(): void {
    for (const root of this.#plan.roots) this.schedule(this.#actors[root]!)
    this.#drain()
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
    if (this.stopped) return 'not_running'
    const feed = this.#feeds.find(name, handle)
    if (typeof feed === 'string') return feed
    feed.source.push({ [feed.handle]: value })
    this.#scheduleSoon(feed.node.index)
    return 'ok'
  }

  endInput(name: string, handle?: string): PushResult {
    if (this.stopped) return 'not_running'
    const feed = this.#feeds.find(name, handle)
    if (typeof feed === 'string') return feed
    feed.source.ended = true
    this.#scheduleSoon(feed.node.index)
    return 'ok'
  }

  updateProperties(node_id: string, properties: Record<string, unknown>): string[] | null {
    const index = this.#plan.indexById.get(node_id)
    if (index === undefined) return null
    const applied = applicable(this.#plan.nodes[index]!, properties)
    if (!this.stopped) this.#actors[index]!.update(applied)
    return Object.keys(applied)
  }

  // — what actors ask of their host —

  get inboxLimit(): number {
    return this.#options.inboxLimit
  }

  get stopped(): boolean {
    return this.#state !== 'running'
  }

  schedule(actor: Actor): void {
    if (actor.queued) return
    actor.queued = true
    this.#queue.push(actor)
  }

  filled(inbox: Inbox): void {
    this.#full.add(inbox)
    this.#actors[inbox.slot.source]!.full++
  }

  freed(inbox: Inbox): void {
    this.#full.delete(inbox)
    const producer = this.#actors[inbox.slot.source]!
    if (--producer.full === 0) this.schedule(producer)
  }

  travelled(edge_id: string, inbox: Inbox | null, token: unknown): void {
    reportToken(this.observer, this.#time, edge_id, inbox, token)
  }

  admit(actor: Actor): boolean {
    if (this.#options.budget.free) return true
    this.#starved.add(actor)
    return false
  }

  launched(): void {
    this.#inFlight++
    this.#options.budget.take()
  }

  landed(settle: () => void): void {
    this.#inFlight--
    this.#options.budget.giveBack()
    try {
      settle()
    } catch (fault) {
      this.#breakDown(fault)
    }
    this.#drain()
    this.#options.budget.wakeWaiting()
  }

  context(actor: Actor): NodeContext {
    return new FiringContext(actor.node.observed, this)
  }

  inputsFor(actor: Actor, constants: Inputs): Inputs {
    return paramInputs(actor.node, this.#options.params, constants)
  }

  feedFor(actor: Actor): ItemSource {
    return this.#feeds.sourceOf(actor.node)
  }

  began(actor: Actor): void {
    this.observer.nodeUpdated(actor.node.observed, 'running')
  }

  publish(actor: Actor, value: unknown): void {
    const output = actor.node.output!
    this.#outputs.get(output.name)!.push(value)
    this.observer.output(actor.node.observed, output.name, value, output.type)
  }

  closed({ node }: Actor, fired: boolean, result: Outputs): void {
    this.#open--
    if (node.input?.stream) this.#feeds.end(node)
    if (fired) this.observer.nodeUpdated(node.observed, 'completed', { result })
    else this.observer.nodeUpdated(node.observed, 'skipped')
    if (node.output) this.observer.outputDone?.(node.observed, node.output.name)
  }

  fail({ node }: Actor, error: unknown): void {
    if (this.#state !== 'running') return
    if (this.signal.aborted) {
      this.#cancel()
      return
    }
    const safe = error instanceof NodeError
    const cause = safe ? error.cause : error
    const message = safe ? error.message : UNSAFE
    this.#state = 'failing'
    this.#error = { node_id: node.observed.node_id, type: safe ? error.type : 'node_failed', message }
    if (cause !== undefined) this.observer.fault(node.observed, cause)
    this.observer.nodeUpdated(node.observed, 'error', { error: message })
  }

  // — what contexts ask of their host —

  get signal(): AbortSignal {
    return this.#options.signal
  }

  get clock(): Clock {
    return this.#options.clock
  }

  get observer(): RunObserver {
    return this.#options.observer
  }

  get random(): () => number {
    return this.#options.random
  }

  get settled(): boolean {
    return this.#state === 'settled'
  }

  /** Waiting for a sub-workflow, a firing gives its place to the firings inside of it. */
  async callWorkflow(node: ObservedNode, workflow_id: string, params: Record<string, unknown>): Promise<Outputs> {
    const { budget, callWorkflow } = this.#options
    budget.giveBack()
    budget.wakeWaiting()
    try {
      return await callWorkflow(node, workflow_id, params)
    } finally {
      budget.take()
    }
  }

  // — turns —

  #scheduleSoon(node: number): void {
    this.schedule(this.#actors[node]!)
    this.#immediate ??= setImmediate(() => {
      this.#immediate = null
      this.#drain()
    })
  }

  #drain(): void {
    if (this.#draining || this.#state === 'settled') return
    this.#draining = true
    try {
      if (this.signal.aborted) this.#cancel()
      this.#work()
    } catch (fault) {
      this.#breakDown(fault)
    }
    this.#draining = false
    this.#endIfOver()
  }

  /** Gives turns until nobody can go on or the slice is over. */
  #work(): void {
    const start = performance.now()
    this.#time = start
    for (let actor = this.#next(); actor; actor = this.#next()) {
      actor.queued = false
      actor.turn()
      if (this.signal.aborted) this.#cancel()
      if (this.#state !== 'running') return
      this.#time = performance.now()
      if (this.#time - start < SLICE) continue
      this.#immediate ??= setImmediate(() => {
        this.#immediate = null
        this.#drain()
      })
      return
    }
  }

  #next(): Actor | undefined {
    if (this.#state !== 'running') return undefined
    const actor = this.#queue[this.#head]
    if (actor) {
      this.#head++
      if (this.#head >= 1024) {
        this.#queue = this.#queue.slice(this.#head)
        this.#head = 0
      }
      return actor
    }
    this.#queue.length = 0
    this.#head = 0
    const [hungry] = this.#starved
    if (hungry && this.#options.budget.free) {
      this.#starved.delete(hungry)
      this.schedule(hungry)
      return this.#next()
    }
    return this.#full.size > 0 && this.#relieve() ? this.#next() : undefined
  }

  /** Enlarges an inbox where the graph blocks itself. */
  #relieve(): boolean {
    const inbox = inboxToGrow(this.#actors, this.#full)
    if (!inbox) return false
    inbox.limit *= 2
    this.freed(inbox)
    return true
  }

  // — the end —

  #cancel(): void {
    if (this.#state === 'settled' || this.#grace) return
    if (this.#state === 'running') this.#state = 'cancelling'
    this.#grace = new AbortController()
    this.clock.sleep(GRACE, this.#grace.signal).then(
      () => this.#settle(),
      () => {},
    )
    if (!this.#draining) this.#endIfOver()
  }

  /** The engine itself, or an observer, threw: the run can't be trusted to go on. */
  #breakDown(fault: unknown): void {
    if (this.#state === 'running') {
      this.#state = 'failing'
      this.#error = { node_id: '', type: 'internal_error', message: 'The run broke down. The log says why.' }
    }
    const { nodes } = this.#plan
    const node = nodes[0]?.observed ?? { node_id: '', node_name: '', node_type: '' }
    try {
      this.observer.fault(node, fault)
    } catch {
      // An observer that can't even hear of its own failure: the outcome still tells it.
    }
  }

  #endIfOver(): void {
    if (this.#state === 'settled') return
    if (this.#state === 'running' ? this.#open === 0 : this.#inFlight === 0) {
      this.#settle()
      return
    }
    if (this.#starved.size > 0) this.#options.budget.wait(this.#wake)
    if (!this.#listening) {
      this.#listening = true
      this.signal.addEventListener('abort', this.#abort)
    }
    if (this.#state === 'running' && this.#isStuck()) {
      this.#breakDown(new Error(`${this.#open} nodes wait for nothing that could come`))
      this.#settle()
    }
  }

  /** Nothing is under way and nothing can come: no graph should bring this about. */
  #isStuck(): boolean {
    return this.#inFlight === 0 && this.#immediate === null && this.#starved.size === 0 && !this.#feeds.open
  }

  #result(): Outcome {
    if (this.#error) return { status: 'failed', error: this.#error }
    if (this.#state === 'cancelling') return { status: 'cancelled' }
    return { status: 'completed', outputs: Object.fromEntries(this.#outputs) }
  }

  #settle(): void {
    if (this.#state === 'settled') return
    const outcome = this.#result()
    this.#state = 'settled'
    if (this.#listening) this.signal.removeEventListener('abort', this.#abort)
    if (this.#immediate) clearImmediate(this.#immediate)
    this.#grace?.abort()
    this.#options.budget.forget(this.#wake)
    for (const actor of this.#actors) if (!actor.closed) actor.abandon()
    this.#queue = []
    this.#starved.clear()
    this.#full.clear()
    this.#outcome = outcome
    this.#done?.resolve(outcome)
  }
}
