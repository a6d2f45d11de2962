// The weave of one node in one run: the firing that reads whole streams, each at its own pace, and gives items of its own.

import type { PlanNode } from '../../compile/plan.ts'
import {
  type InputValues,
  ItemRequest,
  type OutputValues,
  STREAM_END,
  type StreamOperatorFiring,
} from '../../node-api/node-type.ts'
import type { Inbox } from '../streams/inbox.ts'
import type { SideInputs } from '../streams/side-inputs.ts'
import type { FiringResult } from '../streams/token-sender.ts'
import { FailureToken, NO_VALUE, StreamEndToken } from '../streams/tokens.ts'
import { ItemSource } from './firing.ts'
import type { NodeCodeRunner } from './node-code-runner.ts'
import { coerceInput, validateItem, validateOutputs } from './result-validation.ts'
import { RetainedItems } from './retained-items.ts'

/** How many steps the node's code makes before others have their turn. */
const MAX_STEPS = 64

/** What it wants to read is not there yet. */
const AWAITING_ITEM = Symbol('wait')

export class StreamOperatorState {
  readonly #node: PlanNode
  readonly #codeRunner: NodeCodeRunner
  readonly #sideInputs: SideInputs
  /** The level of the streams that it reads, and of its own. */
  readonly #level: number
  /** The streams of the present firing whose end was read. */
  readonly #endedStreams = new Set<Inbox>()
  readonly #retained: RetainedItems
  #generator: StreamOperatorFiring | null = null
  /** What the node's code wants next; null: it is to be asked. */
  #requested: Inbox | typeof STREAM_END | null = null
  #source = new ItemSource(null, false)
  /** From the begin of a firing until all its streams have ended. */
  isBusy = false

  constructor(node: PlanNode, codeRunner: NodeCodeRunner, sideInputs: SideInputs) {
    this.#node = node
    this.#codeRunner = codeRunner
    this.#sideInputs = sideInputs
    this.#level = node.depth + 1
    this.#retained = new RetainedItems(node, codeRunner.memoryAccount)
  }

  /** The end of a stream around the node, where that comes next. Only while every stream has a token. */
  get nextEnd(): StreamEndToken | null {
    const head = this.#sideInputs.inboxes[0]!.peek()
    return head instanceof StreamEndToken && head.level < this.#level ? head : null
  }

  passEnd(): void {
    for (const inbox of this.#sideInputs.inboxes) this.#sideInputs.take(inbox)
  }

  /** Whether a stream of the firing that comes next was never opened. Only while every stream has a token. */
  get isSkipped(): boolean {
    return this.#sideInputs.inboxes.some((inbox) => {
      const head = inbox.peek()
      return head instanceof StreamEndToken && head.isSkipped
    })
  }

  /** Begins a firing. Gives its items; or what stands for a firing that does not take place. */
  begin(inputs: InputValues | FailureToken | null): ItemSource | FailureToken | null {
    this.isBusy = true
    const begun = inputs === null || inputs instanceof FailureToken ? inputs : this.#startGenerator(inputs)
    if (begun === null || begun === undefined || begun instanceof FailureToken) {
      this.#unsubscribeRest()
      return begun ?? null
    }
    this.#generator = begun
    this.#source = new ItemSource(null, false)
    return this.#source
  }

  #startGenerator(inputs: InputValues): StreamOperatorFiring | FailureToken | undefined {
    this.#codeRunner.createRecord(inputs)
    return this.#codeRunner.runCode((context) => this.#node.type.streamOperator!(inputs, context))
  }

  /** Goes on as far as its streams allow. False: it has to wait. */
  advance(): boolean {
    for (let left = MAX_STEPS; left > 0; left--) {
      if (this.#source.size > 0) return true
      if (!this.#generator) return this.#drain()
      const given = this.#readRequested()
      if (given === AWAITING_ITEM) return false
      this.#step(this.#generator, given)
      if (this.#codeRunner.stopped) return false
      // Its result goes out before the rest of its streams comes in.
      if (!this.#generator) return true
    }
    return true
  }

  /** Ends the firing: nobody wants its items any more. */
  cutStream(): void {
    this.#source.drop()
    if (this.#generator) this.#finish({})
  }

  /** Lets go of the firing and of its streams, up to the end of a stream around them. */
  dropUntil(level: number): void {
    this.#closeGenerator()
    this.#source.drop()
    this.isBusy = false
    this.#endedStreams.clear()
    for (const inbox of this.#sideInputs.inboxes) this.#sideInputs.unsubscribe(inbox, level)
  }

  /** The nodes whose tokens it lacks. */
  get missingSources(): number[] {
    if (!this.#generator) return this.#sideInputs.missingSources
    return this.#requested === null || this.#requested === STREAM_END ? [] : [this.#requested.slot.source]
  }

  /** Ends the generator that the run leaves behind. */
  abandon(): void {
    this.#closeGenerator()
  }

  #step(generator: StreamOperatorFiring, given: unknown): void {
    if (given instanceof FailureToken) {
      this.#finish(given)
      return
    }
    const step = this.#codeRunner.runCode(() => generator.next(given))
    if (step === undefined) return
    if (step instanceof FailureToken) this.#finish(step)
    else if (!step.done && step.value instanceof ItemRequest)
      this.#requested = this.#sideInputs.findByName(step.value.input) ?? STREAM_END
    else {
      const { done, value } = step
      const node = this.#node
      const judged = this.#codeRunner.runCode(() => (done ? validateOutputs(node, value) : validateItem(node, value)))
      if (judged === undefined) return
      if (done || judged instanceof FailureToken) this.#finish(judged)
      else {
        this.#retained.releaseSinceItem()
        this.#source.push(judged as OutputValues)
      }
    }
  }

  /** What the node's code gets for what it wanted: an item, the end, or nothing where it wanted nothing. */
  #readRequested(): unknown {
    const inbox = this.#requested
    if (inbox === null) return undefined
    const token = inbox === STREAM_END || this.#endedStreams.has(inbox) ? STREAM_END : this.#readNext(inbox)
    if (token !== AWAITING_ITEM) this.#requested = null
    return token
  }

  #readNext(inbox: Inbox): unknown {
    while (inbox.size > 0) {
      const token = this.#sideInputs.take(inbox)
      if (token instanceof StreamEndToken) {
        this.#endedStreams.add(inbox)
        return STREAM_END
      }
      if (token instanceof FailureToken) return token
      if (token === NO_VALUE) continue
      this.#retained.add(inbox.slot, token)
      return this.#codeRunner.runCode(() => coerceInput(this.#node, inbox.slot, token))
    }
    return AWAITING_ITEM
  }

  #finish(result: FiringResult): void {
    this.#source.result = result
    this.#source.hasEnded = true
    this.#closeGenerator()
    this.#unsubscribeRest()
  }

  /** What is left of the streams is not wanted. */
  #unsubscribeRest(): void {
    for (const inbox of this.#sideInputs.inboxes)
      if (!this.#endedStreams.has(inbox)) this.#sideInputs.unsubscribe(inbox, this.#level)
  }

  /** Takes in the ends of the streams; done when all have come. */
  #drain(): boolean {
    for (const inbox of this.#sideInputs.inboxes) {
      if (this.#endedStreams.has(inbox) || inbox.size === 0) continue
      this.#sideInputs.take(inbox)
      this.#endedStreams.add(inbox)
    }
    if (this.#endedStreams.size < this.#sideInputs.inboxes.length) return false
    this.#endedStreams.clear()
    this.isBusy = false
    return true
  }

  /** Puts the generator away. */
  #closeGenerator(): void {
    const generator = this.#generator
    this.#retained.clear()
    this.#generator = null
    this.#requested = null
    try {
      generator?.return(undefined)
    } catch {
      // Its firing is over: what it says while it is put away has no listener.
    }
  }
}
