// What one run hands out: the values of its output nodes, by name, and how much they are together.

import type { Plan } from '../../compile/compiler.ts'
import { NodeError } from '../../node-api/node-type.ts'
import { estimateSize } from '../../node-api/values/measure.ts'
import { countExtraUtf8Bytes } from '../../node-api/values/utf8-bytes.ts'

/** About how many bytes the outputs of a run may have together, as UTF-8: the result of a job is read at once. */
export const MAX_RUN_OUTPUT_BYTES = 32_000_000

export class RunOutputs {
  readonly #outputs: Map<string, unknown[]>
  #weight = 0

  constructor(plan: Plan) {
    this.#outputs = new Map(plan.outputs.map((output) => [output.name, []]))
  }

  /** Counts a value before it is handed out, and gives about how many characters it has. Large ones are looked into before (`extraBytesSteps`). @throws NodeError `too_large` */
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

  /** All values by name; an empty list for an output that got nothing. */
  get valuesByName(): Record<string, unknown[]> {
    return Object.fromEntries(this.#outputs)
  }
}
