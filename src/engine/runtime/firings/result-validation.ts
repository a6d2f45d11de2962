// Validates the results of node code and the values it receives; each error names the node and the handle.

import { isRecord } from '../../../shared/record.ts'
import type { PlanNode, PlanSlot } from '../../compile/plan.ts'
import { suggestName } from '../../node-api/did-you-mean.ts'
import type { InputValues, OutputValues } from '../../node-api/firing-forms.ts'
import { NodeError } from '../../node-api/node-error.ts'
import { TypeMismatchError } from '../../node-api/values/coercion.ts'
import { conformsShallowly, getValueKind } from '../../node-api/values/type-conformance.ts'
import { formatTypeLabel } from '../../node-api/values/type-label.ts'
import {
  describeTooManyKeys,
  findExcess,
  MAX_VALUE_SIZE,
  TOO_DEEP_TEXT,
  type ValueExcess,
} from '../../node-api/values/value-excess.ts'
import { Wait } from '../../node-api/wait.ts'
import { resolveParam } from '../run/params.ts'

function createNodeError(node: PlanNode, text: string, type = 'bad_output'): NodeError {
  return new NodeError(`Node "${node.observed.node_id}" (${node.observed.node_type}) ${text}`, type)
}

function validateHandles(node: PlanNode, values: OutputValues, stream: boolean): void {
  for (const handle of Object.keys(values)) {
    const value = values[handle]
    const output = node.outputs.get(handle)
    if (!output)
      throw createNodeError(
        node,
        `gave an output "${handle}", which it doesn't have.${suggestName(handle, node.outputs.keys())}`,
      )
    if (output.stream !== stream) {
      throw createNodeError(
        node,
        stream ? `yielded its single output "${handle}".` : `returned its stream "${handle}" instead of yielding it.`,
      )
    }
    if (value !== undefined && !conformsShallowly(value, output.type)) {
      throw createNodeError(
        node,
        `gave ${getValueKind(value)} on "${handle}", which is ${formatTypeLabel(output.type)}.`,
      )
    }
    const excess = findExcess(value, MAX_VALUE_SIZE)
    if (excess)
      throw createNodeError(
        node,
        `gave a value on "${handle}" that ${describeExcess(excess, MAX_VALUE_SIZE)}.`,
        excessErrorType(excess),
      )
  }
}

export const NO_OUTPUTS: OutputValues = Object.freeze({})

/** The size limit of a value of an output node, in approximate characters; a frame to a client has the same limit. */
export const MAX_OUTPUT_SIZE = 32_000_000

function describeExcess(excess: ValueExcess, largest: number): string {
  if (excess === 'too_many_keys') return `has ${describeTooManyKeys()}`
  return excess === 'too_deep' ? `is ${TOO_DEEP_TEXT}` : `is larger than ${largest / 1_000_000} million characters`
}

function excessErrorType(excess: ValueExcess): string {
  return excess === 'too_deep' ? excess : 'too_large'
}

export function createCannotWaitError(node: PlanNode): NodeError {
  return createNodeError(node, 'cannot wait here: the run has no journal.', 'cannot_wait')
}

/** The validated outputs of a firing. An undefined result means no outputs. */
export function validateOutputs(node: PlanNode, returned: unknown): OutputValues {
  if (returned === undefined || returned === null) return NO_OUTPUTS
  if (returned instanceof Wait) throw createCannotWaitError(node)
  if (!isRecord(returned))
    throw createNodeError(node, `returned ${getValueKind(returned)} instead of its outputs by name.`)
  validateHandles(node, returned, false)
  return returned
}

/** A validated item. */
export function validateItem(node: PlanNode, yielded: unknown): OutputValues {
  if (!isRecord(yielded)) throw createNodeError(node, `yielded ${getValueKind(yielded)} instead of values by handle.`)
  validateHandles(node, yielded, true)
  return yielded
}

/** The validated value of an output node, which may be its own constant. */
export function validateOutputValue(node: PlanNode, value: unknown): unknown {
  const excess = findExcess(value, MAX_OUTPUT_SIZE)
  if (!excess) return value
  const advice = excess === 'too_large' ? ' Return it in parts.' : ''
  throw createNodeError(
    node,
    `got a value that ${describeExcess(excess, MAX_OUTPUT_SIZE)}.${advice}`,
    excessErrorType(excess),
  )
}

/** The value converted for its input. */
export function coerceInput(node: PlanNode, slot: PlanSlot, value: unknown): unknown {
  if (slot.coerce === null) return value
  try {
    return slot.coerce(value)
  } catch (error) {
    if (!(error instanceof TypeMismatchError)) throw error
    throw new NodeError(`Input "${slot.name}" of node "${node.observed.node_id}": ${error.message}.`, error.code)
  }
}

/** The inputs of an input node: `value` is the run's param, or else the node's own value. */
export function resolveInputNodeValues(
  node: PlanNode,
  params: Readonly<Record<string, unknown>>,
  constants: InputValues,
): InputValues {
  const input = node.input!
  const param = resolveParam(input, params)
  if (!param && input.required) throw new NodeError(`Input "${input.name}" needs a value.`, 'missing_input')
  return { ...constants, value: param ? validateParam(node, param.value) : input.default }
}

/** A validated param or pushed value. */
export function validateParam(node: PlanNode, value: unknown): unknown {
  const { inputCheck, input } = node
  const excess = findExcess(value, Number.POSITIVE_INFINITY)
  if (excess)
    throw new NodeError(
      `Input "${input?.name}": the value ${describeExcess(excess, MAX_VALUE_SIZE)}.`,
      excessErrorType(excess),
    )
  try {
    return inputCheck === null ? value : inputCheck(value)
  } catch (error) {
    if (!(error instanceof TypeMismatchError)) throw error
    throw new NodeError(`Input "${input?.name}": ${error.message}.`, 'input_mismatch')
  }
}

const UNSAFE_MESSAGE = 'The node failed. The log says why.'

export interface PublicError {
  readonly type: string
  readonly message: string
  /** The cause, for the log only. */
  readonly cause: unknown
  /** Whether node code wrote the message. */
  readonly isNodeMessage: boolean
}

/** Splits an error into its public message and its cause for the log. */
export function toPublicError(error: unknown): PublicError {
  if (error instanceof NodeError)
    return { type: error.type, message: error.message, cause: error.cause, isNodeMessage: true }
  return {
    type: 'node_failed',
    message: UNSAFE_MESSAGE,
    cause: error ?? new Error('The node threw nothing'),
    isNodeMessage: false,
  }
}
