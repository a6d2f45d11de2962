// What is sent to a job while it waits for its turn: values and ends of its streamed inputs and properties of its nodes. It answers as the
// execution would, and bounds what the job keeps for its start.

import type { PushResult, Underway } from '../engine/execution.ts'
import { givenParam } from '../engine/given.ts'
import { sizeOf } from '../engine/measure.ts'
import type { Inputs } from '../engine/node-type.ts'
import type { Plan, PlanInput } from '../engine/plan.ts'
import { changeable } from '../engine/updates.ts'
import type { Receiver } from './inlet.ts'
import { Later } from './later.ts'

/** How many values are kept, and about how many characters they may have together. */
export const KEPT_VALUES = 1_024
const KEPT_WEIGHT = 32 * 1024 * 1024

export class EarlyInputs implements Receiver {
  readonly #plan: Plan
  readonly #begun: boolean
  #values = 0
  readonly #ended = new Set<string>()
  /** Streams that nobody can send to: their whole content came with the job. */
  readonly #given: ReadonlySet<string>
  #weight = 0

  /** `earlier`: what it was sent already. `begun`: some of it has run, and goes on. */
  constructor(
    plan: Plan,
    params: Readonly<Record<string, unknown>>,
    fed: boolean,
    earlier: readonly (readonly ['push', string, unknown] | readonly ['close', string])[],
    begun: boolean,
  ) {
    this.#plan = plan
    this.#begun = begun
    const given = (input: PlanInput) => !fed || givenParam(input, params) !== null
    this.#given = new Set(plan.inputs.filter(given).map(({ name }) => name))
    for (const [what, name, value] of earlier) {
      if (what === 'push') this.takeInput(name, value)
      else this.endInput(name)
    }
  }

  judgePush(name: string, value: unknown, handle: string | undefined, underway: Underway): PushResult {
    const refusal = this.#refusal(name, handle)
    if (refusal) return refusal
    if (this.#isEnded(name) || underway.ended) return 'not_running'
    if (this.#values + underway.values >= KEPT_VALUES) return 'full'
    return this.#weight + underway.weight + sizeOf(value) > KEPT_WEIGHT ? 'full' : 'ok'
  }

  judgeEnd(name: string, handle: string | undefined): PushResult {
    return this.#refusal(name, handle) ?? 'ok'
  }

  takeInput(_name: string, value: unknown): void {
    this.#weight += value instanceof Later ? value.size : sizeOf(value)
    this.#values++
  }

  endInput(name: string): void {
    this.#ended.add(name)
  }

  /** The run finds them in what the job remembers. */
  takeProperties(): void {}

  /** What may be changed, converted; null: no such node. */
  changeable(node_id: string, properties: Record<string, unknown>): Inputs | null {
    // What fired before must come out the same when it is done again, and how much that is only a run can tell.
    return this.#begun ? changeable(this.#plan, node_id, {}) : changeable(this.#plan, node_id, properties)
  }

  #isEnded(name: string): boolean {
    return this.#ended.has(name) || this.#given.has(name)
  }

  #refusal(name: string, handle: string | undefined): PushResult | null {
    const input = this.#plan.inputByName.get(name)
    if (!input) return 'unknown_input'
    if (!input.stream) return 'not_a_stream'
    const [own] = this.#plan.nodes[this.#plan.indexById.get(input.node_id)!]!.outputs.keys()
    return handle === undefined || handle === own ? null : 'unknown_input'
  }
}
