// Reads streams into the aggregate of one node: each item into its open firing, and each end of a stream as the end of that firing.

import type { FiringParticipant } from '../run/participant.ts'
import type { FiringResult } from '../streams/token-sender.ts'
import { FailureToken, type StreamEndToken } from '../streams/tokens.ts'
import { AggregateState } from './aggregate-state.ts'
import { ItemSource } from './firing.ts'
import type { InputReader } from './input-reader.ts'
import { findInputFailure } from './inputs.ts'
import type { NodeCodeRunner } from './node-code-runner.ts'
import type { NodeFiringParts } from './node-firing-parts.ts'
import type { ReorderBuffer } from './reorder-buffer.ts'

export class AggregateReader {
  readonly #executor: FiringParticipant
  readonly #inputs: InputReader
  readonly #codeRunner: NodeCodeRunner
  readonly #reorderBuffer: ReorderBuffer
  readonly #aggregate: AggregateState

  constructor({ executor, codeRunner, reorderBuffer }: NodeFiringParts, inputs: InputReader) {
    this.#executor = executor
    this.#inputs = inputs
    this.#codeRunner = codeRunner
    this.#reorderBuffer = reorderBuffer
    this.#aggregate = new AggregateState(executor.node, codeRunner)
  }

  /** True while an item is being pushed: items are pushed one after the other. */
  get isPushing(): boolean {
    return this.#aggregate.isPushing
  }

  /** Reads the next item, or the end of the stream. */
  read(end: StreamEndToken | null): void {
    const { join } = this.#inputs
    if (end) join.holdOuterInputs()
    else this.#inputs.advance()
    this.#codeRunner.position!.isWholeStream = true
    const loading = this.#aggregate.hasBegun ? null : this.#begin(end)
    if (loading) this.#executor.pauseReading(loading, () => this.#aggregate.continueOpening() && this.#take(end))
    else this.#take(end)
  }

  /** Drops the open firing, which no consumer wants any more. */
  drop(): void {
    this.#aggregate.drop()
  }

  /** Begins the firing of a stream. Returns a promise if its history has to be loaded first. */
  #begin(end: StreamEndToken | null): Promise<void> | null {
    const inputs = end?.isSkipped ? findInputFailure(this.#executor.node, this.#inputs.join) : this.#inputs.gather()
    if (inputs && !(inputs instanceof FailureToken)) this.#executor.reportBegin()
    return this.#aggregate.begin(inputs)
  }

  #take(end: StreamEndToken | null): void {
    if (this.#codeRunner.stopped) return
    if (end) this.#end(end)
    else this.#pushItem()
  }

  #pushItem(): void {
    const { node } = this.#executor
    this.#codeRunner.position!.isWholeStream = false
    this.#aggregate.push(this.#inputs.join.tokenOf(node.driverSlots[0]!))
    // The rest of a stream is unwanted once its firing has failed.
    if (this.#aggregate.hasFailed) this.#inputs.join.unsubscribe(node.readDepth)
  }

  #end(end: StreamEndToken): void {
    this.#inputs.readEnd(end)
    const ended = this.#aggregate.end()
    if (this.#codeRunner.stopped) return
    if (!ended) this.#reorderBuffer.addResult(null)
    else if (!ended.isReplayed) this.#reorderBuffer.takeResult(ended.result, ended.record)
    else if (ended.result === null) this.#reorderBuffer.addStream(new ItemSource(null, false))
    else this.#reorderBuffer.addResult(ended.result as FiringResult)
    this.#codeRunner.position!.endStream(end.level)
  }
}
