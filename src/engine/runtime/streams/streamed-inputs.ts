// The streamed inputs of one run: values that arrive from outside and wait for their node.

import type { Plan } from '../../compile/compiler.ts'
import type { PlanNode } from '../../compile/plan.ts'
import { UnreadValue } from '../../durability/journal.ts'
import { estimateSize } from '../../node-api/values/measure.ts'
import { ItemSource } from '../firings/firing.ts'
import { validateParam } from '../firings/result-validation.ts'
import { estimateWeight } from '../run/memory-account.ts'
import { resolveParam } from '../run/params.ts'

/** `full`: too many values wait; the caller may retry once some were read. */
export type PushResult = 'ok' | 'full' | 'unknown_input' | 'not_a_stream' | 'not_running'

export interface StreamedInput {
  readonly node: PlanNode
  readonly handle: string
  readonly source: ItemSource
  /** Whether the params contain the whole stream. */
  readonly isGivenWhole: boolean
}

/** Whether no more values arrive from outside. */
export function hasInputEnded({ isGivenWhole, source }: StreamedInput): boolean {
  return isGivenWhole || source.hasEnded
}

/** Validates lazily: a list of millions is neither copied nor validated before its items are read. */
function* validateItems(values: readonly unknown[], node: PlanNode, handle: string) {
  for (const value of values) yield { [handle]: validateParam(node, value) }
}

/** The limits of waiting pushed values and of their approximate characters. */
const MAX_PENDING_VALUES = 1024
const MAX_PENDING_CHARACTERS = 32_000_000

/** Values in transit to an input, which arrive before the value in question. */
export interface InputsInTransit {
  readonly values: number
  /** Their approximate number of characters. */
  readonly weight: number
  /** Whether the end of the stream is in transit. */
  readonly ended: boolean
}

const NONE_IN_TRANSIT: InputsInTransit = { values: 0, weight: 0, ended: false }

function isFull({ source }: StreamedInput, value: unknown, { values, weight }: InputsInTransit): boolean {
  return (
    source.size + values >= MAX_PENDING_VALUES || source.weight + weight + estimateSize(value) > MAX_PENDING_CHARACTERS
  )
}

/** Appends a value to an open stream. Before the run begins, its host limits the values that it keeps. */
export function pushValue(input: StreamedInput, value: unknown, hasBegun: boolean): PushResult {
  if (hasBegun && isFull(input, value, NONE_IN_TRANSIT)) return 'full'
  return appendValue(input, value)
}

/** Appends a validated value, however many values wait. */
export function appendValue({ source, handle }: StreamedInput, value: unknown): PushResult {
  source.push({ [handle]: value })
  return 'ok'
}

export function endStream({ source }: StreamedInput): PushResult {
  source.hasEnded = true
  return 'ok'
}

export class StreamedInputs {
  readonly #plan: Plan
  readonly #inputs = new Map<string, StreamedInput>()

  /** A list in `params` is the whole stream; without one the stream stays open. */
  constructor(plan: Plan, params: Readonly<Record<string, unknown>>) {
    this.#plan = plan
    for (const input of plan.inputs) {
      if (!input.stream) continue
      const node = plan.nodes[plan.indexById.get(input.node_id)!]!
      const handle = [...node.outputs.keys()][0]!
      const given = resolveParam(input, params)
      const values = given && (Array.isArray(given.value) ? given.value : [given.value])
      const source = values ? new ItemSource(validateItems(values, node, handle), true) : new ItemSource(null, false)
      // The run holds these values until its end.
      if (values) source.weight = estimateWeight(values)
      this.#inputs.set(input.name, { node, handle, source, isGivenWhole: values !== null })
    }
  }

  /** Whether a stream may still receive values from outside. */
  get isAnyOpen(): boolean {
    for (const input of this.#inputs.values()) if (!hasInputEnded(input)) return true
    return false
  }

  /** The validated items of a streamed input node. Throws NodeError for an invalid one. */
  openSource(node: PlanNode): ItemSource {
    const input = this.#inputs.get(node.input!.name)!
    input.source.validate = ({ [input.handle]: value }) => ({
      [input.handle]: validateParam(node, UnreadValue.read(value)),
    })
    return input.source
  }

  /** Ends the stream of a node that was skipped or is closed. */
  endInput(node: PlanNode): void {
    const input = this.#inputs.get(node.input!.name)
    if (input) input.source.hasEnded = true
  }

  /** The result that pushing the value would have after the values in transit. */
  previewPush(name: string, value: unknown, handle: string | undefined, inTransit: InputsInTransit): PushResult {
    const input = this.find(name, handle)
    if (typeof input === 'string') return input
    if (hasInputEnded(input) || inTransit.ended) return 'not_running'
    return isFull(input, value, inTransit) ? 'full' : 'ok'
  }

  /** Finds a stream, which may have ended, or the reason why there is none. */
  find(name: string, handle: string | undefined): StreamedInput | Exclude<PushResult, 'ok'> {
    const input = this.#inputs.get(name)
    if (!input) return this.#plan.inputByName.has(name) ? 'not_a_stream' : 'unknown_input'
    if (handle !== undefined && handle !== input.handle) return 'unknown_input'
    return input
  }
}
