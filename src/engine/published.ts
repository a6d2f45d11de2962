// What one run hands out: the values of its output nodes, by name, and how much they are together.
import { sizeOf } from './measure.ts'
import { NodeError } from './node-type.ts'
import type { Plan } from './plan.ts'

/** About how many characters the outputs of a run may have together: they are kept, stored and sent. */
const LARGEST_OUTPUTS = 128_000_000

export class Published {
  readonly #outputs: Map<string, unknown[]>
  #weight = 0

  constructor(plan: Plan) {
    this.#outputs = new Map(plan.outputs.map((output) => [output.name, []]))
  }

  /** Counts a value before it is handed out, and gives about how many characters it has. @throws NodeError `too_large` */
  weigh(value: unknown): number {
    const size = sizeOf(value)
    this.#weight += size
    if (this.#weight <= LARGEST_OUTPUTS) return size
    const text = `The outputs of the workflow have more than ${LARGEST_OUTPUTS / 1_000_000} million characters together.`
    throw new NodeError(`${text} Hand out less, or parts of it in several runs.`, 'too_large')
  }

  add(name: string, value: unknown): void {
    this.#outputs.get(name)!.push(value)
  }

  /** All values by name; an empty list for an output that got nothing. */
  get all(): Record<string, unknown[]> {
    return Object.fromEntries(this.#outputs)
  }
}
