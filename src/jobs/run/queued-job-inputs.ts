// Accepts inputs for a queued job: values and ends of streamed inputs, and property changes. It answers like the execution, and bounds the stored values.

import type { Plan, PlanInput } from '../../engine/compile/compiler.ts'
import type { InputValues } from '../../engine/node-api/firing-forms.ts'
import { estimateSize } from '../../engine/node-api/values/measure.ts'
import type { InputsInTransit, PushResult } from '../../engine/runtime/execution.ts'
import { resolvePropertyUpdates } from '../../engine/runtime/property-updates.ts'
import { resolveParam } from '../../engine/runtime/run/params.ts'
import { LazyValue } from '../values/lazy-value.ts'
import type { InputReceiver } from './job-inputs.ts'

/** At most this many values are kept, with about this many characters together. */
export const MAX_QUEUED_VALUES = 1_024
const KEPT_WEIGHT = 32 * 1024 * 1024

export class QueuedJobInputs implements InputReceiver {
  readonly #plan: Plan
  readonly #hasBegun: boolean
  #valueCount = 0
  readonly #endedStreams = new Set<string>()
  /** Streams that accept no values: their whole content came with the job. */
  readonly #closedStreams: ReadonlySet<string>
  #weight = 0

  /** `earlier`: inputs that the job has received. `begun`: the job has run before, and is continued. */
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

  /** The run reads property changes from the journal. */
  updateProperties(): void {}

  /** The accepted properties, converted; null: no such node. */
  changeable(node_id: string, properties: Record<string, unknown>): InputValues | null {
    // Earlier firings must come out the same when they are repeated. Only a run knows which firings that concerns.
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
