// Judges what node code returns and yields, and what reaches it: every misfit becomes an error that names the place.
import { givenParam } from './given.ts'
import { type Excess, excessOf, LARGEST_VALUE, TOO_DEEP, tooManyKeys } from './measure.ts'
import { type Inputs, NodeError, type Outputs, Wait } from './node-type.ts'
import type { PlanNode, PlanSlot } from './plan-parts.ts'
import { hint } from './suggest.ts'
import { typeLabel } from './type-label.ts'
import { conformsAtTop, kindOf, Mismatch } from './values.ts'

function isRecord(value: unknown): value is Outputs {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function bad(node: PlanNode, text: string, type = 'bad_output'): NodeError {
  return new NodeError(`Node "${node.observed.node_id}" (${node.observed.node_type}) ${text}`, type)
}

function checkHandles(node: PlanNode, values: Outputs, stream: boolean): void {
  for (const handle of Object.keys(values)) {
    const value = values[handle]
    const output = node.outputs.get(handle)
    if (!output)
      throw bad(node, `gave an output "${handle}", which it doesn't have.${hint(handle, node.outputs.keys())}`)
    if (output.stream !== stream) {
      throw bad(
        node,
        stream ? `yielded its single output "${handle}".` : `returned its stream "${handle}" instead of yielding it.`,
      )
    }
    if (value !== undefined && !conformsAtTop(value, output.type)) {
      throw bad(node, `gave ${kindOf(value)} on "${handle}", which is ${typeLabel(output.type)}.`)
    }
    const excess = excessOf(value, LARGEST_VALUE)
    if (excess)
      throw bad(node, `gave a value on "${handle}" that ${excessText(excess, LARGEST_VALUE)}.`, typeOf(excess))
  }
}

export const NO_OUTPUTS: Outputs = Object.freeze({})

/** In characters, about: what an output node hands out at once; a frame to a client may hold no more. */
export const LARGEST_OUTPUT = 32_000_000

function excessText(excess: Excess, largest: number): string {
  if (excess === 'too_many_keys') return `has ${tooManyKeys()}`
  return excess === 'too_deep' ? `is ${TOO_DEEP}` : `is larger than ${largest / 1_000_000} million characters`
}

function typeOf(excess: Excess): string {
  return excess === 'too_deep' ? excess : 'too_large'
}

export function cannotWait(node: PlanNode): NodeError {
  return bad(node, 'can not wait here: nothing would remember it.', 'cannot_wait')
}

/** What a firing returned, once it is found good. Nothing at all is no outputs. */
export function checkedOutputs(node: PlanNode, returned: unknown): Outputs {
  if (returned === undefined || returned === null) return NO_OUTPUTS
  if (returned instanceof Wait) throw cannotWait(node)
  if (!isRecord(returned)) throw bad(node, `returned ${kindOf(returned)} instead of its outputs by name.`)
  checkHandles(node, returned, false)
  return returned
}

/** One yielded item, once it is found good. */
export function checkedItem(node: PlanNode, yielded: unknown): Outputs {
  if (!isRecord(yielded)) throw bad(node, `yielded ${kindOf(yielded)} instead of values by handle.`)
  checkHandles(node, yielded, true)
  return yielded
}

/** What an output node hands out, once it is found good: it may be its own value, which no node gave. */
export function checkedPublic(node: PlanNode, value: unknown): unknown {
  const excess = excessOf(value, LARGEST_OUTPUT)
  if (!excess) return value
  const advice = excess === 'too_large' ? ' Hand it out in parts.' : ''
  throw bad(node, `got a value that ${excessText(excess, LARGEST_OUTPUT)}.${advice}`, typeOf(excess))
}

/** A value as its input takes it. */
export function coerced(node: PlanNode, slot: PlanSlot, value: unknown): unknown {
  if (slot.coerce === null) return value
  try {
    return slot.coerce(value)
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error
    throw new NodeError(`Input "${slot.name}" of node "${node.observed.node_id}": ${error.message}.`, error.code)
  }
}

/** The inputs of an input node: its `value` is what the run was given, else its own. */
export function paramInputs(node: PlanNode, params: Readonly<Record<string, unknown>>, constants: Inputs): Inputs {
  const input = node.input!
  const given = givenParam(input, params)
  if (!given && input.required) throw new NodeError(`Input "${input.name}" needs a value.`, 'missing_input')
  return { ...constants, value: given ? paramValue(node, given.value) : input.default }
}

/** A value that was given or pushed for an input, once it is found good. */
export function paramValue(node: PlanNode, value: unknown): unknown {
  const { inputCheck, input } = node
  const excess = excessOf(value, Number.POSITIVE_INFINITY)
  if (excess)
    throw new NodeError(`Input "${input?.name}": the value ${excessText(excess, LARGEST_VALUE)}.`, typeOf(excess))
  try {
    return inputCheck === null ? value : inputCheck(value)
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error
    throw new NodeError(`Input "${input?.name}": ${error.message}.`, 'input_mismatch')
  }
}

const UNSAFE = 'The node failed. The log says why.'

export interface PublicError {
  readonly type: string
  readonly message: string
  /** What only the log may hear. */
  readonly cause: unknown
  /** Whether the message is the node's own. */
  readonly told: boolean
}

/** What may be said of an error, and what may not. */
export function publicError(error: unknown): PublicError {
  if (error instanceof NodeError) return { type: error.type, message: error.message, cause: error.cause, told: true }
  return { type: 'node_failed', message: UNSAFE, cause: error ?? new Error('The node threw nothing'), told: false }
}
