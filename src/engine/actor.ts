// One node in one run: reads its join, fires, keeps results in path order and sends them out.
// When it may do so is the scheduler's business (run.ts).
import { asSource, Firing, type ItemSource, isThenable } from './firing.ts'
import { Join, type JoinHost } from './join.ts'
import type { Aggregate, Inputs, NodeContext, NodeType, Outputs } from './node-type.ts'
import { type Deliver, Outbox } from './outbox.ts'
import type { PlanNode } from './plan-parts.ts'
import { checkedItem, checkedOutputs, coerced } from './results.ts'
import { type End, NOTHING } from './tokens.ts'

export interface ActorHost extends JoinHost {
  /** True once the run fails, is cancelled or is over: nothing new begins. */
  readonly stopped: boolean
  readonly deliver: Deliver
  schedule(actor: Actor): void
  /** Whether an asynchronous firing may begin; if not, the actor is scheduled again when one may. */
  admit(actor: Actor): boolean
  /** An asynchronous piece of work began, and ended. */
  launched(): void
  /** `settle` takes in what it gave. */
  landed(settle: () => void): void
  context(actor: Actor): NodeContext
  /** The inputs of an input node, from the run's params. */
  inputsFor(actor: Actor, constants: Inputs): Inputs
  /** The items of a streamed input, which come from outside. */
  feedFor(actor: Actor): ItemSource
  began(actor: Actor): void
  publish(actor: Actor, value: unknown): void
  fail(actor: Actor, error: unknown): void
  closed(actor: Actor, fired: boolean, result: Outputs): void
}

/** How many steps an actor takes before it lets others have their turn. */
const BATCH = 64
/** How many firings of one node may be in flight, and how many may wait in its window. */
const IN_FLIGHT = 16
const WINDOW = 64

/**
 * Node types whose last first firing gave its result at once. A node of any other type needs a place among the
 * asynchronous firings before it begins; these shall not wait for one. Only a hint: it never changes a result.
 */
const answersAtOnce = new WeakSet<NodeType>()

/** Where an aggregate's present stream belongs to a skipped firing. */
const SKIPPED = Symbol('skipped')

export class Actor {
  readonly node: PlanNode
  /** Whether it waits in the scheduler's queue. */
  queued = false
  /** How many of its consumers' inboxes are full. */
  full = 0
  closed = false
  readonly #host: ActorHost
  readonly #join: Join
  readonly #outbox: Outbox
  readonly #window: Firing[] = []
  readonly #streamed: boolean
  #constants: Inputs
  #context: NodeContext | null = null
  #inFlight = 0
  /** Whether the last result came late, so that the next firing needs a place among the asynchronous ones. */
  #waits: boolean
  #aggregate: Aggregate | typeof SKIPPED | null = null
  /** An aggregate takes its items one after the other. */
  #pushing = false
  #fired = false
  #inputsEnded = false
  #result: Outputs = {}

  constructor(node: PlanNode, host: ActorHost) {
    this.node = node
    this.#host = host
    this.#join = new Join(node, host)
    this.#outbox = new Outbox(node, host.deliver)
    this.#constants = node.constants
    this.#waits = node.mayWait && !answersAtOnce.has(node.type)
    this.#streamed = node.input?.stream === true
  }

  receive(slot: number, token: unknown): void {
    if (this.#join.receive(slot, token)) this.#host.schedule(this)
  }

  /** Works until it has to wait, or for one batch. */
  turn(): void {
    for (let left = BATCH; left > 0; left--) if (!this.#step()) return
    this.#host.schedule(this)
  }

  /** Replaces own values for firings not yet begun. */
  update(values: Inputs): void {
    this.#constants = { ...this.#constants, ...values }
  }

  get constants(): Readonly<Inputs> {
    return this.#constants
  }

  /** What keeps it from going on: full inboxes behind it, inputs that lack a token, or nothing inside the graph. */
  get obstacle(): 'consumers' | 'sources' | null {
    if (this.closed || this.queued || this.#pushing) return null
    const head = this.#window[0]
    if (head?.source && !head.done) {
      const { source } = head
      return this.full > 0 && (source.size > 0 || source.sync || source.ended) ? 'consumers' : null
    }
    if (head && !head.done) return null
    if (!head && !this.#join.ready) return 'sources'
    return this.full > 0 ? 'consumers' : null
  }

  /** The nodes whose tokens it lacks. */
  get missingSources(): number[] {
    return this.node.slots.filter((slot) => this.#join.lacks(slot.index)).map((slot) => slot.source)
  }

  /** Ends the generators that the run leaves behind. */
  abandon(): void {
    for (const { source } of this.#window) {
      const iterator = source?.iterator
      if (!iterator?.return || source?.ended) continue
      try {
        const returned: unknown = iterator.return()
        if (isThenable(returned)) returned.then(undefined, () => {})
      } catch {
        // The run is over: what a generator says while it is put away has no listener.
      }
    }
    this.#window.length = 0
    this.#join.clear()
  }

  /** One step: sends a result that is due, or reads and fires. False: it has to wait. */
  #step(): boolean {
    if (this.#host.stopped || this.closed) return false
    if (this.#window.length > 0 && this.#flush()) return true
    if (this.#inputsEnded || this.#pushing || !this.#join.ready || !this.#hasRoom()) return false
    if (this.#waits && !this.#host.admit(this)) return false
    if (this.node.readDepth > this.node.depth) this.#readAggregate()
    else this.#read()
    this.#closeIfDone()
    return true
  }

  #hasRoom(): boolean {
    if (this.#window.length === 0) return this.full === 0
    const last = this.#window[this.#window.length - 1]!
    return this.#inFlight < IN_FLIGHT && this.#window.length < WINDOW && !(last.source?.sync && !last.source.ended)
  }

  /** Sends what the first place of the window has, if its consumers have room. */
  #flush(): boolean {
    const head = this.#window[0]!
    if (this.full > 0) return false
    if (head.source && !head.done) return this.#flushItem(head, head.source)
    if (!head.done) return false
    this.#window.shift()
    if (head.end) this.#outbox.sendEnd(head.end)
    else this.#outbox.sendOutputs(head.outputs)
    this.#closeIfDone()
    return true
  }

  #flushItem(firing: Firing, source: ItemSource): boolean {
    if (source.size > 0) {
      const item = this.#run(() => source.shift())
      if (!item) return false
      this.#sendItem(item)
      if (source.iterator && !source.sync) this.#pull(firing, source)
      return true
    }
    if (source.ended) {
      firing.done = true
      firing.outputs ??= {}
      return true
    }
    if (source.sync) return this.#pullNow(firing, source)
    this.#pull(firing, source)
    return false
  }

  #sendItem(item: Outputs): void {
    this.#result = item
    this.#outbox.sendItem(item)
  }

  #read(): void {
    const end = this.#join.nextEnd()
    if (end) {
      this.#passEnd(end)
      return
    }
    this.#join.advance()
    if (this.node.readDepth === 0) this.#inputsEnded = true
    const inputs = this.#gather()
    if (inputs) this.#fire(inputs)
    else if (!this.#host.stopped) this.#settle(null)
  }

  #readAggregate(): void {
    const end = this.#join.nextEnd()
    if (end && end.level < this.node.readDepth) {
      this.#passEnd(end)
      return
    }
    if (end) this.#join.hold()
    else this.#join.advance()
    if (this.#aggregate === null) this.#openAggregate(end)
    if (this.#host.stopped) return
    if (end) this.#endAggregate(end)
    else this.#pushItem()
  }

  #passEnd(end: End): void {
    this.#join.passEnd(end.level)
    if (end.level === 1) this.#inputsEnded = true
    if (this.#window.length > 0) this.#window.push(new Firing(true, null, end))
    else this.#outbox.sendEnd(end)
  }

  /**
   * The inputs of the present path, or null where it gives no firing: all connected inputs got nothing, or one that
   * has no other value did.
   */
  #gather(): Inputs | null {
    const { slots } = this.node
    const inputs = { ...this.#constants }
    let nothing = 0
    let connected = 0
    try {
      for (const slot of slots) {
        if (slot.aggregate) continue
        connected++
        const token = this.#join.token(slot.index)
        if (token === NOTHING) {
          if (slot.required) return null
          nothing++
        } else if (slot.name !== null) inputs[slot.name] = coerced(this.node, slot, token)
      }
    } catch (error) {
      this.#host.fail(this, error)
      return null
    }
    const all = connected > 0 && nothing === connected && connected === slots.length
    return all ? null : inputs
  }

  #begin(): void {
    if (this.#fired) return
    this.#fired = true
    this.#host.began(this)
  }

  #run<T>(work: (context: NodeContext) => T): T | undefined {
    this.#context ??= this.#host.context(this)
    try {
      return work(this.#context)
    } catch (error) {
      this.#host.fail(this, error)
      return undefined
    }
  }

  #fire(inputs: Inputs): void {
    this.#begin()
    const { node } = this
    if (node.output) {
      this.#host.publish(this, inputs.value)
      this.#settle({})
      return
    }
    if (this.#streamed) {
      this.#openStream(this.#host.feedFor(this))
      return
    }
    const result = this.#run((context) =>
      node.type.run!(node.input ? this.#host.inputsFor(this, inputs) : inputs, context),
    )
    if (!this.#host.stopped) this.#take(result)
  }

  /** Takes what a firing gave, whichever way it came. */
  #take(result: unknown): void {
    if (isThenable(result)) {
      this.#launch(result)
      return
    }
    const source = asSource(result)
    if (source) {
      this.#openStream(source)
      return
    }
    this.#cameAtOnce()
    const outputs = this.#checked(result)
    if (outputs) this.#settle(outputs)
  }

  /** Null where the outputs are bad, which has failed the run. */
  #checked(returned: unknown): Outputs | null {
    try {
      return checkedOutputs(this.node, returned)
    } catch (error) {
      this.#host.fail(this, error)
      return null
    }
  }

  /** A firing's result (null: skipped) goes out at once, or waits for those before it. */
  #settle(outputs: Outputs | null): void {
    if (outputs) this.#result = outputs
    if (this.#window.length > 0) this.#window.push(new Firing(true, outputs))
    else this.#outbox.sendOutputs(outputs)
  }

  #launch(promise: Promise<unknown>): void {
    const firing = new Firing(false)
    this.#window.push(firing)
    this.#await(promise, (result) => {
      const source = asSource(result)
      if (source) {
        this.#stream(firing, source)
        return
      }
      firing.outputs = this.#checked(result)
      if (firing.outputs) this.#result = firing.outputs
      firing.done = true
    })
  }

  /** Waits for a piece of asynchronous work; what comes after the run is over is dropped. */
  #await(promise: Promise<unknown>, then: (result: unknown) => void): void {
    this.#waits = true
    answersAtOnce.delete(this.node.type)
    this.#inFlight++
    this.#host.launched()
    const landed = (settle: () => void) =>
      this.#host.landed(() => {
        this.#inFlight--
        if (!this.#host.stopped) settle()
        this.#host.schedule(this)
      })
    promise.then(
      (result) => landed(() => then(result)),
      (error) => landed(() => this.#host.fail(this, error)),
    )
  }

  #openStream(source: ItemSource): void {
    const firing = new Firing(false)
    this.#window.push(firing)
    this.#stream(firing, source)
  }

  #stream(firing: Firing, source: ItemSource): void {
    firing.source = source
    if (source.sync) this.#cameAtOnce()
    else this.#pull(firing, source)
  }

  #cameAtOnce(): void {
    if (!this.#waits) return
    this.#waits = false
    answersAtOnce.add(this.node.type)
  }

  /** Asks an asynchronous generator for its next item, as long as there is room for it. */
  #pull(firing: Firing, source: ItemSource): void {
    if (source.pulling || source.ended || !source.iterator || !source.hasRoom || this.#host.stopped) return
    if (!this.#host.admit(this)) return
    const next = this.#run(() => source.iterator!.next())
    if (this.#host.stopped) return
    source.pulling = true
    this.#await(Promise.resolve(next), (step) => {
      source.pulling = false
      this.#receiveStep(firing, source, step as IteratorResult<unknown>)
      this.#pull(firing, source)
    })
  }

  /** Asks a plain generator for its next item and sends it on. */
  #pullNow(firing: Firing, source: ItemSource): boolean {
    const step = this.#run(() => source.iterator!.next()) as IteratorResult<unknown> | undefined
    if (this.#host.stopped || !step) return false
    this.#receiveStep(firing, source, step)
    return !this.#host.stopped
  }

  #receiveStep(firing: Firing, source: ItemSource, step: IteratorResult<unknown>): void {
    try {
      if (step.done) {
        firing.outputs = checkedOutputs(this.node, step.value)
        this.#result = { ...this.#result, ...firing.outputs }
        source.ended = true
      } else if (source.sync) this.#sendItem(checkedItem(this.node, step.value))
      else source.push(checkedItem(this.node, step.value))
    } catch (error) {
      this.#host.fail(this, error)
    }
  }

  #openAggregate(end: End | null): void {
    const inputs = end?.skipped ? null : this.#gather()
    if (!inputs) {
      this.#aggregate = SKIPPED
      return
    }
    this.#begin()
    this.#aggregate = this.#run((context) => this.node.type.open!(inputs, context)) ?? SKIPPED
  }

  #pushItem(): void {
    const slot = this.node.slots[this.node.drivers[0]!]!
    const token = this.#join.token(slot.index)
    if (token === NOTHING || this.#aggregate === SKIPPED) return
    const aggregate = this.#aggregate!
    const pushed = this.#run(() => aggregate.push(coerced(this.node, slot, token)))
    if (this.#host.stopped || !isThenable(pushed)) return
    this.#pushing = true
    this.#await(pushed, () => {
      this.#pushing = false
    })
  }

  #endAggregate(end: End): void {
    const aggregate = this.#aggregate
    this.#aggregate = null
    this.#join.passEnd(end.level)
    if (this.node.depth === 0) this.#inputsEnded = true
    if (aggregate === SKIPPED || aggregate === null) this.#settle(null)
    else {
      const result = this.#run(() => aggregate.end())
      if (!this.#host.stopped) this.#take(result)
    }
  }

  #closeIfDone(): void {
    if (!this.#inputsEnded || this.#window.length > 0 || this.closed || this.#host.stopped) return
    this.closed = true
    this.#join.clear()
    this.#host.closed(this, this.#fired, this.#result)
  }
}
