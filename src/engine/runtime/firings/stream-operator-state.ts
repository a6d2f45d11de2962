// The stream operator of one node in one run: its open firing, which reads whole streams at its own pace and yields items.

import type { PlanNode } from '../../compile/plan.ts'
import {
  type InputValues,
  ItemRequest,
  type OutputValues,
  STREAM_END,
  type StreamOperatorFiring,
} from '../../node-api/firing-forms.ts'
import type { Inbox } from '../streams/inbox.ts'
import type { SideInputs } from '../streams/side-inputs.ts'
import type { FiringResult } from '../streams/token-sender.ts'
import { FailureToken, NO_VALUE, StreamEndToken } from '../streams/tokens.ts'
import { ItemSource } from './firing.ts'
import type { NodeCodeRunner } from './node-code-runner.ts'
import { coerceInput, validateItem, validateOutputs } from './result-validation.ts'
import { RetainedItems } from './retained-items.ts'

/** The limit of steps of the node's code before other nodes have their turn. */
const MAX_STEPS = 64

/** The requested item has not arrived yet. */
const AWAITING_ITEM = Symbol('wait')

export class StreamOperatorState {
  readonly #node: PlanNode
  readonly #codeRunner: NodeCodeRunner
  readonly #sideInputs: SideInputs
  /** The level of the streams that it reads, and of its own stream. */
  readonly #level: number
  /** The streams of the current firing whose end was read. */
  readonly #endedStreams = new Set<Inbox>()
  readonly #retained: RetainedItems
  #generator: StreamOperatorFiring | null = null
  /** The stream that the code requested; null: the code has to be advanced. */
  #requested: Inbox | typeof STREAM_END | null = null
  #source = new ItemSource(null, false)
  /** True from the begin of a firing until all its streams have ended. */
  isBusy = false

  constructor(node: PlanNode, codeRunner: NodeCodeRunner, sideInputs: SideInputs) {
    this.#node = node
    this.#codeRunner = codeRunner
    this.#sideInputs = sideInputs
    this.#level = node.depth + 1
    this.#retained = new RetainedItems(node, codeRunner.memoryAccount)
  }

  /** The end of an outer stream, if it comes next. Valid only while every stream has a token. */
  get nextEnd(): StreamEndToken | null {
    const head = this.#sideInputs.inboxes[0]!.peek()
    return head instanceof StreamEndToken && head.level < this.#level ? head : null
  }

  passEnd(): void {
    for (const inbox of this.#sideInputs.inboxes) this.#sideInputs.take(inbox)
  }

  /** Whether a stream of the next firing was never opened. Valid only while every stream has a token. */
  get isSkipped(): boolean {
    return this.#sideInputs.inboxes.some((inbox) => {
      const head = inbox.peek()
      return head instanceof StreamEndToken && head.isSkipped
    })
  }

  /** Begins a firing. Returns its items, its failure, or null if it does not take place. */
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

  /** Advances as far as the streams allow. False: it has to wait. */
  advance(): boolean {
    for (let left = MAX_STEPS; left > 0; left--) {
      if (this.#source.size > 0) return true
      if (!this.#generator) return this.#drain()
      const given = this.#readRequested()
      if (given === AWAITING_ITEM) return false
      this.#step(this.#generator, given)
      if (this.#codeRunner.stopped) return false
      // The result is sent before the rest of the streams is read.
      if (!this.#generator) return true
    }
    return true
  }

  /** Ends the firing, as no consumer wants its items. */
  cutStream(): void {
    this.#source.drop()
    if (this.#generator) this.#finish({})
  }

  /** Drops the firing and its streams up to the end of an outer stream. */
  dropUntil(level: number): void {
    this.#closeGenerator()
    this.#source.drop()
    this.isBusy = false
    this.#endedStreams.clear()
    for (const inbox of this.#sideInputs.inboxes) this.#sideInputs.unsubscribe(inbox, level)
  }

  /** The nodes whose tokens are missing. */
  get missingSources(): number[] {
    if (!this.#generator) return this.#sideInputs.missingSources
    return this.#requested === null || this.#requested === STREAM_END ? [] : [this.#requested.slot.source]
  }

  /** Ends the generator when the run is over. */
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
      const validated = this.#codeRunner.runCode(() =>
        done ? validateOutputs(node, value) : validateItem(node, value),
      )
      if (validated === undefined) return
      if (done || validated instanceof FailureToken) this.#finish(validated)
      else {
        this.#retained.releaseSinceItem()
        this.#source.push(validated as OutputValues)
      }
    }
  }

  /** The value for the code's request: an item, the end of the stream, or undefined without a request. */
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

  /** Unsubscribes from the rest of the streams. */
  #unsubscribeRest(): void {
    for (const inbox of this.#sideInputs.inboxes)
      if (!this.#endedStreams.has(inbox)) this.#sideInputs.unsubscribe(inbox, this.#level)
  }

  /** Reads the ends of the streams; true when all have arrived. */
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

  /** Ends the generator. */
  #closeGenerator(): void {
    const generator = this.#generator
    this.#retained.clear()
    this.#generator = null
    this.#requested = null
    try {
      generator?.return(undefined)
    } catch {
      // The firing is over: errors of the generator's end are ignored.
    }
  }
}
