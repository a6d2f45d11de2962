// What is sent to a job while it waits for its turn: values and ends of its streamed inputs and properties of its nodes. It answers as the
// execution would, and bounds what the job keeps for its start.

import type { PushResult } from '../engine/execution.ts'
import { givenParam } from '../engine/given.ts'
import type { Plan, PlanInput } from '../engine/plan.ts'
import { applicable } from '../engine/updates.ts'
import { jsonText } from '../json.ts'
import type { Inlet } from './inlet.ts'

/** How many values are kept, and how many characters of JSON text they may have together. */
export const KEPT_VALUES = 1_024
const KEPT_TEXT = 32 * 1024 * 1024

export class EarlyInputs implements Inlet {
  readonly #plan: Plan
  readonly #begun: boolean
  #values = 0
  readonly #ended = new Set<string>()
  /** Streams that nobody can send to: their whole content came with the job. */
  readonly #given: ReadonlySet<string>
  #text = 0

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
      if (what === 'push') this.pushInput(name, value)
      else this.endInput(name)
    }
  }

  pushInput(name: string, value: unknown, handle?: string): PushResult {
    const refusal = this.#refusal(name, handle)
    if (refusal) return refusal
    if (this.#isEnded(name)) return 'not_running'
    const text = this.#values < KEPT_VALUES ? (jsonText(value) ?? '').length : 0
    if (this.#values >= KEPT_VALUES || this.#text + text > KEPT_TEXT) return 'full'
    this.#text += text
    this.#values++
    return 'ok'
  }

  endInput(name: string, handle?: string): PushResult {
    const refusal = this.#refusal(name, handle)
    if (refusal) return refusal
    this.#ended.add(name)
    return 'ok'
  }

  updateProperties(node_id: string, properties: Record<string, unknown>): { applied: string[]; from: number } | null {
    const node = this.#plan.nodes[this.#plan.indexById.get(node_id) ?? -1]
    if (!node) return null
    // What fired before must come out the same when it is done again, and how much that is only a run can tell.
    return { applied: this.#begun ? [] : Object.keys(applicable(node, properties)), from: 0 }
  }

  #isEnded(name: string): boolean {
    return this.#ended.has(name) || this.#given.has(name)
  }

  #refusal(name: string, handle: string | undefined): PushResult | null {
    const input = this.#plan.inputs.find((one) => one.name === name)
    if (!input) return 'unknown_input'
    if (!input.stream) return 'not_a_stream'
    const [own] = this.#plan.nodes[this.#plan.indexById.get(input.node_id)!]!.outputs.keys()
    return handle === undefined || handle === own ? null : 'unknown_input'
  }
}
