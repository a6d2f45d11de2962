// The weave of one node in one run: the firing that reads whole streams, each at its own pace, and gives items of its own.
import { ItemSource } from './firing.ts'
import type { Inbox } from './inbox.ts'
import { KeptItems } from './kept-items.ts'
import { type Inputs, type Outputs, STREAM_END, Want, type Weave } from './node-type.ts'
import type { Result } from './outbox.ts'
import type { PlanNode } from './plan-parts.ts'
import { checkedItem, checkedOutputs, coerced } from './results.ts'
import type { Sides } from './sides.ts'
import type { Tasks } from './tasks.ts'
import { End, Failure, NOTHING } from './tokens.ts'

/** How many steps the node's code makes before others have their turn. */
const BATCH = 64

/** What it wants to read is not there yet. */
const WAIT = Symbol('wait')

export class WeaveState {
  readonly #node: PlanNode
  readonly #tasks: Tasks
  readonly #sides: Sides
  /** The level of the streams that it reads, and of its own. */
  readonly #level: number
  /** The streams of the present firing whose end was read. */
  readonly #ended = new Set<Inbox>()
  readonly #kept: KeptItems
  #weave: Weave | null = null
  /** What the node's code wants next; null: it is to be asked. */
  #wanted: Inbox | typeof STREAM_END | null = null
  #source = new ItemSource(null, false)
  /** From the begin of a firing until all its streams have ended. */
  busy = false

  constructor(node: PlanNode, tasks: Tasks, sides: Sides) {
    this.#node = node
    this.#tasks = tasks
    this.#sides = sides
    this.#level = node.depth + 1
    this.#kept = new KeptItems(node, tasks.held)
  }

  /** The end of a stream around the node, where that comes next. Only while every stream has a token. */
  get nextEnd(): End | null {
    const head = this.#sides.all[0]!.peek()
    return head instanceof End && head.level < this.#level ? head : null
  }

  passEnd(): void {
    for (const inbox of this.#sides.all) this.#sides.take(inbox)
  }

  /** Whether a stream of the firing that comes next was never opened. Only while every stream has a token. */
  get skipped(): boolean {
    return this.#sides.all.some((inbox) => {
      const head = inbox.peek()
      return head instanceof End && head.skipped
    })
  }

  /** Begins a firing. Gives its items; or what stands for a firing that does not take place. */
  begin(inputs: Inputs | Failure | null): ItemSource | Failure | null {
    this.busy = true
    const begun = inputs === null || inputs instanceof Failure ? inputs : this.#begun(inputs)
    if (begun === null || begun === undefined || begun instanceof Failure) {
      this.#leave()
      return begun ?? null
    }
    this.#weave = begun
    this.#source = new ItemSource(null, false)
    return this.#source
  }

  #begun(inputs: Inputs): Weave | Failure | undefined {
    this.#tasks.remember(inputs)
    return this.#tasks.attempt((context) => this.#node.type.weave!(inputs, context))
  }

  /** Goes on as far as its streams allow. False: it has to wait. */
  advance(): boolean {
    for (let left = BATCH; left > 0; left--) {
      if (this.#source.size > 0) return true
      if (!this.#weave) return this.#drain()
      const given = this.#read()
      if (given === WAIT) return false
      this.#step(this.#weave, given)
      if (this.#tasks.stopped) return false
      // Its result goes out before the rest of its streams comes in.
      if (!this.#weave) return true
    }
    return true
  }

  /** Ends the firing: nobody wants its items any more. */
  cut(): void {
    this.#source.drop()
    if (this.#weave) this.#finish({})
  }

  /** Lets go of the firing and of its streams, up to the end of a stream around them. */
  forget(level: number): void {
    this.#put()
    this.#source.drop()
    this.busy = false
    this.#ended.clear()
    for (const inbox of this.#sides.all) this.#sides.deafen(inbox, level)
  }

  /** The nodes whose tokens it lacks. */
  get missing(): number[] {
    if (!this.#weave) return this.#sides.missing
    return this.#wanted === null || this.#wanted === STREAM_END ? [] : [this.#wanted.slot.source]
  }

  /** Ends the generator that the run leaves behind. */
  abandon(): void {
    this.#put()
  }

  #step(weave: Weave, given: unknown): void {
    if (given instanceof Failure) {
      this.#finish(given)
      return
    }
    const step = this.#tasks.attempt(() => weave.next(given))
    if (step === undefined) return
    if (step instanceof Failure) this.#finish(step)
    else if (!step.done && step.value instanceof Want) this.#wanted = this.#sides.named(step.value.input) ?? STREAM_END
    else {
      const { done, value } = step
      const node = this.#node
      const judged = this.#tasks.attempt(() => (done ? checkedOutputs(node, value) : checkedItem(node, value)))
      if (judged === undefined) return
      if (done || judged instanceof Failure) this.#finish(judged)
      else {
        this.#kept.gave()
        this.#source.push(judged as Outputs)
      }
    }
  }

  /** What the node's code gets for what it wanted: an item, the end, or nothing where it wanted nothing. */
  #read(): unknown {
    const inbox = this.#wanted
    if (inbox === null) return undefined
    const token = inbox === STREAM_END || this.#ended.has(inbox) ? STREAM_END : this.#next(inbox)
    if (token !== WAIT) this.#wanted = null
    return token
  }

  #next(inbox: Inbox): unknown {
    while (inbox.size > 0) {
      const token = this.#sides.take(inbox)
      if (token instanceof End) {
        this.#ended.add(inbox)
        return STREAM_END
      }
      if (token instanceof Failure) return token
      if (token === NOTHING) continue
      this.#kept.read(inbox.slot, token)
      return this.#tasks.attempt(() => coerced(this.#node, inbox.slot, token))
    }
    return WAIT
  }

  #finish(result: Result): void {
    this.#source.result = result
    this.#source.ended = true
    this.#put()
    this.#leave()
  }

  /** What is left of the streams is not wanted. */
  #leave(): void {
    for (const inbox of this.#sides.all) if (!this.#ended.has(inbox)) this.#sides.deafen(inbox, this.#level)
  }

  /** Takes in the ends of the streams; done when all have come. */
  #drain(): boolean {
    for (const inbox of this.#sides.all) {
      if (this.#ended.has(inbox) || inbox.size === 0) continue
      this.#sides.take(inbox)
      this.#ended.add(inbox)
    }
    if (this.#ended.size < this.#sides.all.length) return false
    this.#ended.clear()
    this.busy = false
    return true
  }

  /** Puts the generator away. */
  #put(): void {
    const weave = this.#weave
    this.#kept.clear()
    this.#weave = null
    this.#wanted = null
    try {
      weave?.return(undefined)
    } catch {
      // Its firing is over: what it says while it is put away has no listener.
    }
  }
}
