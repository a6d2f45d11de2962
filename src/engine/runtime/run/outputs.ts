// The values of the output nodes of one run, by name, and their total size.

import type { Plan } from '../../compile/compiler.ts'
import { NodeError } from '../../node-api/node-error.ts'
import { estimateSize } from '../../node-api/values/measure.ts'
import { countExtraUtf8Bytes } from '../../node-api/values/utf8-bytes.ts'

/** The limit of a run's outputs, in approximate UTF-8 bytes: the result of a job is read at once. */
export const MAX_RUN_OUTPUT_BYTES = 32_000_000

export class RunOutputs {
  readonly #outputs: Map<string, unknown[]>
  #weight = 0

  constructor(plan: Plan) {
    this.#outputs = new Map(plan.outputs.map((output) => [output.name, []]))
  }

  /**
   * Counts a value before it is published; returns its approximate characters. Large values are measured in steps before
   * (`countExtraUtf8Steps`). @throws NodeError `too_large`
   */
  countSize(value: unknown): number {
    const size = estimateSize(value)
    this.#weight += size + countExtraUtf8Bytes(value)
    if (this.#weight <= MAX_RUN_OUTPUT_BYTES) return size
    const text = `The outputs of the workflow have more than ${MAX_RUN_OUTPUT_BYTES / 1_000_000} million bytes together.`
    throw new NodeError(`${text} Hand out less, parts of it in several runs, or files.`, 'too_large')
  }

  add(name: string, value: unknown): void {
    this.#outputs.get(name)!.push(value)
  }

  /** All values by name; an empty list for an output without a value. */
  get valuesByName(): Record<string, unknown[]> {
    return Object.fromEntries(this.#outputs)
  }
}
