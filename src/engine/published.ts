// What one run hands out: the values of its output nodes, by name, and how much they are together.
import { extraBytesOf } from './extra-bytes.ts'
import { sizeOf } from './measure.ts'
import { NodeError } from './node-type.ts'
import type { Plan } from './plan.ts'

/** About how many bytes the outputs of a run may have together, as UTF-8: the result of a job is read at once. */
export const LARGEST_OUTPUTS = 32_000_000

export class Published {
  readonly #outputs: Map<string, unknown[]>
  #weight = 0

  constructor(plan: Plan) {
    this.#outputs = new Map(plan.outputs.map((output) => [output.name, []]))
  }

  /** Counts a value before it is handed out, and gives about how many characters it has. Large ones are looked into before (`extraBytesSteps`). @throws NodeError `too_large` */
  weigh(value: unknown): number {
    const size = sizeOf(value)
    this.#weight += size + extraBytesOf(value)
    if (this.#weight <= LARGEST_OUTPUTS) return size
    const text = `The outputs of the workflow have more than ${LARGEST_OUTPUTS / 1_000_000} million bytes together.`
    throw new NodeError(`${text} Hand out less, parts of it in several runs, or files.`, 'too_large')
  }

  add(name: string, value: unknown): void {
    this.#outputs.get(name)!.push(value)
  }

  /** All values by name; an empty list for an output that got nothing. */
  get all(): Record<string, unknown[]> {
    return Object.fromEntries(this.#outputs)
  }
}
