// Publishes the values of an output node, in their order: validates each, measures and prepares large ones first.

import { containsBytes } from '../../node-api/values/measure.ts'
import { countExtraUtf8Steps, needsUtf8Steps } from '../../node-api/values/utf8-bytes.ts'
import { estimateWeight } from '../run/memory-account.ts'
import type { FiringParticipant } from '../run/participant.ts'
import type { RunHost } from '../run/run-host.ts'
import type { NodeCodeRunner } from './node-code-runner.ts'
import type { NodeFiringParts } from './node-firing-parts.ts'
import type { ReorderBuffer } from './reorder-buffer.ts'
import { validateOutputValue } from './result-validation.ts'

/**
 * The size in approximate characters from which an output value is prepared in steps. Values with bytes always are, as bytes are written to
 * files.
 */
const LARGE_OUTPUT = 100_000

export class OutputPublisher {
  readonly #executor: FiringParticipant
  readonly #host: RunHost
  readonly #codeRunner: NodeCodeRunner
  readonly #reorderBuffer: ReorderBuffer

  constructor({ executor, host, codeRunner, reorderBuffer }: NodeFiringParts) {
    this.#executor = executor
    this.#host = host
    this.#codeRunner = codeRunner
    this.#reorderBuffer = reorderBuffer
  }

  publish(value: unknown): void {
    try {
      validateOutputValue(this.#executor.node, value)
    } catch (error) {
      this.#codeRunner.fail(error)
      return
    }
    if (!needsUtf8Steps(value)) this.#prepareAndPublish(value)
    else
      this.#executor.pauseForSteps(countExtraUtf8Steps(value), () => {
        if (!this.#codeRunner.stopped) this.#prepareAndPublish(value)
      })
  }

  #prepareAndPublish(value: unknown): void {
    let preparing: Promise<void> | null
    try {
      preparing = this.#prepare(value)
    } catch (error) {
      this.#codeRunner.fail(error)
      return
    }
    if (preparing) this.#executor.pauseReading(preparing, () => this.#publishNow(value))
    else this.#publishNow(value)
  }

  /** Counts a value and prepares a large one; null if it is ready. @throws NodeError `too_large` beyond the limit */
  #prepare(value: unknown): Promise<void> | null {
    const { observed, output } = this.#executor.node
    const { observer, outputs } = this.#host
    const { name } = output!
    const isSmall = outputs.countSize(value) < LARGE_OUTPUT && !containsBytes(value)
    if (isSmall && !observer.holdsMuch?.(name)) return null
    return observer.prepareOutput?.(observed, name, value) ?? null
  }

  #publishNow(value: unknown): void {
    const { observed, output } = this.#executor.node
    const { name, type } = output!
    this.#host.memoryAccount.add(value, estimateWeight(value))
    this.#host.outputs.add(name, value)
    this.#host.observer.output(observed, name, value, type)
    this.#reorderBuffer.addResult({})
  }
}
