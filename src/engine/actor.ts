// One node in one run: reads its join in lock step and fires. When it may do so is the scheduler's business.
import { AggregateState } from './aggregate-state.ts'
import { Join } from './join.ts'
import type { Inputs } from './node-type.ts'
import type { Performer, Stage } from './performer.ts'
import type { PlanNode } from './plan-parts.ts'
import { checkedPublic, coerced } from './results.ts'
import { ResultsWindow } from './results-window.ts'
import { Tasks } from './tasks.ts'
import { type End, NOTHING } from './tokens.ts'

/** How many steps an actor takes before it lets others have their turn. */
const BATCH = 64

export class Actor implements Performer {
  readonly node: PlanNode
  queued = false
  full = 0
  closed = false
  readonly #stage: Stage
  readonly #join: Join
  readonly #tasks: Tasks
  readonly #results: ResultsWindow
  readonly #aggregate: AggregateState | null
  #constants: Inputs
  #fired = false
  #inputsEnded = false

  constructor(node: PlanNode, stage: Stage) {
    this.node = node
    this.#stage = stage
    this.#join = new Join(node, stage)
    this.#tasks = new Tasks(this, stage)
    this.#results = new ResultsWindow(this, stage, this.#tasks)
    this.#aggregate = node.readDepth > node.depth ? new AggregateState(node, this.#tasks) : null
    this.#constants = node.constants
  }

  receive(slot: number, token: unknown): void {
    if (this.#join.receive(slot, token)) this.#stage.schedule(this)
  }

  turn(): void {
    for (let left = BATCH; left > 0; left--) if (!this.#step()) return
    this.#stage.schedule(this)
  }

  update(values: Inputs): void {
    this.#constants = { ...this.#constants, ...values }
  }

  get obstacle(): 'consumers' | 'sources' | null {
    if (this.closed || this.queued || this.#aggregate?.pushing) return null
    if (this.#results.empty && !this.#join.ready) return 'sources'
    return this.full > 0 && (this.#results.empty || this.#results.due) ? 'consumers' : null
  }

  get missingSources(): number[] {
    return this.node.slots.filter((slot) => this.#join.lacks(slot.index)).map((slot) => slot.source)
  }

  abandon(): void {
    this.#results.abandon()
    this.#join.clear()
  }

  /** One step: sends a result that is due, or reads and fires. False: it has to wait. */
  #step(): boolean {
    if (this.#stage.stopped || this.closed) return false
    if (!this.#results.flush()) {
      if (this.#inputsEnded || !this.#join.ready || this.#aggregate?.pushing || !this.#results.hasRoom) return false
      if (!this.#tasks.mayBegin()) return false
      if (this.#aggregate) this.#readAggregate(this.#aggregate)
      else this.#read()
    }
    this.#closeIfDone()
    return true
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
    else if (!this.#stage.stopped) this.#results.settle(null)
  }

  #readAggregate(aggregate: AggregateState): void {
    const end = this.#join.nextEnd()
    if (end && end.level < this.node.readDepth) {
      this.#passEnd(end)
      return
    }
    if (end) this.#join.hold()
    else this.#join.advance()
    if (!aggregate.begun) {
      const inputs = end?.skipped ? null : this.#gather()
      if (inputs) this.#begin()
      aggregate.begin(inputs)
    }
    if (this.#stage.stopped) return
    if (end) this.#endAggregate(aggregate, end)
    else aggregate.push(this.#join.token(this.node.drivers[0]!))
  }

  #endAggregate(aggregate: AggregateState, end: End): void {
    this.#join.passEnd(end.level)
    if (this.node.depth === 0) this.#inputsEnded = true
    const ended = aggregate.end()
    if (this.#stage.stopped) return
    if (ended) this.#results.take(ended.result)
    else this.#results.settle(null)
  }

  #passEnd(end: End): void {
    this.#join.passEnd(end.level)
    if (end.level === 1) this.#inputsEnded = true
    this.#results.passEnd(end)
  }

  /**
   * The inputs of the present path, or null where it gives no firing: all connected inputs got nothing, or one that
   * has no other value did. Null as well where a value doesn't fit, which has failed the run.
   */
  #gather(): Inputs | null {
    const inputs = { ...this.#constants }
    const { slots } = this.node
    let nothing = 0
    for (const slot of slots) {
      if (slot.aggregate) continue
      const token = this.#join.token(slot.index)
      if (token === NOTHING) {
        if (slot.required) return null
        nothing++
      } else if (slot.name !== null) {
        try {
          inputs[slot.name] = coerced(this.node, slot, token)
        } catch (error) {
          this.#tasks.fail(error)
          return null
        }
      }
    }
    return nothing > 0 && nothing === slots.length ? null : inputs
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
    } else {
      const result = this.#tasks.attempt((context) =>
        node.type.run!(node.input ? this.#stage.inputsFor(this, inputs) : inputs, context),
      )
      if (!this.#stage.stopped) this.#results.take(result)
    }
  }

  #publish(value: unknown): void {
    try {
      checkedPublic(this.node, value)
    } catch (error) {
      this.#tasks.fail(error)
      return
    }
    this.#stage.publish(this, value)
    this.#results.settle({})
  }

  #closeIfDone(): void {
    if (!this.#inputsEnded || !this.#results.empty || this.#stage.stopped) return
    this.closed = true
    this.#join.clear()
    this.#stage.finished(this, this.#fired, this.#results.last)
  }
}
