// What is sent to a job while it waits for its turn: values and ends of its streamed inputs and properties of its nodes. It answers as the
// execution would, and bounds what the job keeps for its start.

import type { Plan, PlanInput } from '../../engine/compile/compiler.ts'
import type { InputValues } from '../../engine/node-api/node-type.ts'
import { estimateSize } from '../../engine/node-api/values/measure.ts'
import type { InputsInTransit, PushResult } from '../../engine/runtime/execution.ts'
import { resolvePropertyUpdates } from '../../engine/runtime/property-updates.ts'
import { resolveParam } from '../../engine/runtime/run/params.ts'
import { LazyValue } from '../values/lazy-value.ts'
import type { InputReceiver } from './job-inputs.ts'

/** How many values are kept, and about how many characters they may have together. */
export const MAX_QUEUED_VALUES = 1_024
const KEPT_WEIGHT = 32 * 1024 * 1024

export class QueuedJobInputs implements InputReceiver {
  readonly #plan: Plan
  readonly #hasBegun: boolean
  #valueCount = 0
  readonly #endedStreams = new Set<string>()
  /** Streams that nobody can send to: their whole content came with the job. */
  readonly #closedStreams: ReadonlySet<string>
  #weight = 0

  /** `earlier`: what it was sent already. `begun`: some of it has run, and goes on. */
  constructor(
    plan: Plan,
    params: Readonly<Record<string, unknown>>,
    acceptsStreamInput: boolean,
    earlier: readonly (readonly ['push', string, unknown] | readonly ['close', string])[],
    begun: boolean,
  ) {
    this.#plan = plan
    this.#hasBegun = begun
    const given = (input: PlanInput) => !acceptsStreamInput || resolveParam(input, params) !== null
    this.#closedStreams = new Set(plan.inputs.filter(given).map(({ name }) => name))
    for (const [what, name, value] of earlier) {
      if (what === 'push') this.appendInput(name, value)
      else this.endInput(name)
    }
  }

  previewPush(name: string, value: unknown, handle: string | undefined, underway: InputsInTransit): PushResult {
    const refusal = this.#findRefusal(name, handle)
    if (refusal) return refusal
    if (this.#isEnded(name) || underway.ended) return 'not_running'
    if (this.#valueCount + underway.values >= MAX_QUEUED_VALUES) return 'full'
    return this.#weight + underway.weight + estimateSize(value) > KEPT_WEIGHT ? 'full' : 'ok'
  }

  previewEnd(name: string, handle: string | undefined): PushResult {
    return this.#findRefusal(name, handle) ?? 'ok'
  }

  appendInput(_name: string, value: unknown): void {
    this.#weight += value instanceof LazyValue ? value.size : estimateSize(value)
    this.#valueCount++
  }

  endInput(name: string): void {
    this.#endedStreams.add(name)
  }

  /** The run finds them in what the job remembers. */
  updateProperties(): void {}

  /** What may be changed, converted; null: no such node. */
  changeable(node_id: string, properties: Record<string, unknown>): InputValues | null {
    // What fired before must come out the same when it is done again, and how much that is only a run can tell.
    return this.#hasBegun
      ? resolvePropertyUpdates(this.#plan, node_id, {})
      : resolvePropertyUpdates(this.#plan, node_id, properties)
  }

  #isEnded(name: string): boolean {
    return this.#endedStreams.has(name) || this.#closedStreams.has(name)
  }

  #findRefusal(name: string, handle: string | undefined): PushResult | null {
    const input = this.#plan.inputByName.get(name)
    if (!input) return 'unknown_input'
    if (!input.stream) return 'not_a_stream'
    const [own] = this.#plan.nodes[this.#plan.indexById.get(input.node_id)!]!.outputs.keys()
    return handle === undefined || handle === own ? null : 'unknown_input'
  }
}
