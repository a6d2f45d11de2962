// Values on their way into the sandbox and out of it: validated on both sides, and passed as JSON text.

import type { OutputValues } from '../engine/node-api/firing-forms.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import type { SandboxScript } from '../engine/node-api/services/sandbox.ts'
import { estimateSize, makeMeasuredSteps } from '../engine/node-api/values/measure.ts'
import { describeTooManyKeys, isNestedTooDeep, TOO_DEEP_TEXT } from '../engine/node-api/values/value-excess.ts'
import { parseJsonSteps } from '../payloads/incremental-json-parser.ts'
import { stringifySteps } from '../shared/incremental-json.ts'
import type { Steps } from '../shared/time-slices.ts'
import { isSmallValue, splitIntoSmallRanges } from '../shared/value-size.ts'
import { LONGEST_JSON, MAX_SCRIPT_VALUES } from './limits.ts'

// Functions, as the first number formatted in a locale takes longer than the rest of this file's start.
const describeTooMany = () => `more than ${MAX_SCRIPT_VALUES.toLocaleString('en')} values`
const describeTooLong = () => `more than ${LONGEST_JSON.toLocaleString('en')} characters of JSON`

function refuseInput(name: string, what: string): never {
  throw new NodeError(`Code cannot take the input "${name.slice(0, 60)}": ${what}.`, 'bad_input')
}

/** The reason why a plain value is not JSON, or null. */
function findNonJsonReason(value: unknown): string | null {
  if (typeof value === 'number' && !Number.isFinite(value)) return `it holds ${value}, which is no finite number`
  if (typeof value === 'bigint') return 'it holds a BigInt; make a number or a text of it'
  if (typeof value === 'function' || typeof value === 'symbol') return `it holds a ${typeof value}`
  if (ArrayBuffer.isView(value)) return 'it holds bytes; make a text of them first, such as base64'
  return null
}

/** Returns the number of values inside. Throws NodeError if a value is not JSON. */
function checkInput(name: string, value: unknown, left: number): number {
  if (left < 0) throw new NodeError(`The inputs of the code hold ${describeTooMany()}.`, 'too_large')
  const reason = findNonJsonReason(value)
  if (reason) refuseInput(name, reason)
  if (typeof value !== 'object' || value === null) return 1
  let count = 1
  if (Array.isArray(value)) for (const inner of value) count += checkInput(name, inner, left - count)
  else for (const inner of Object.values(value)) count += checkInput(name, inner, left - count)
  return count
}

/** The inputs of a call as JSON. Throws NodeError `bad_input`, `too_large` or `too_deep`. */
export function encodeInputs(inputs: Readonly<Record<string, unknown>>): string {
  let count = 0
  for (const [name, value] of Object.entries(inputs)) {
    if (isNestedTooDeep(value)) throw new NodeError(`The input "${name.slice(0, 60)}" is ${TOO_DEEP_TEXT}.`, 'too_deep')
    count += checkInput(name, value, MAX_SCRIPT_VALUES - count)
  }
  return checkLength(JSON.stringify(inputs))
}

/** `encodeInputs` in steps, for large inputs. */
export function* encodeInputsSteps(inputs: Readonly<Record<string, unknown>>): Steps<string> {
  let count = 0
  for (const [name, value] of Object.entries(inputs)) {
    if (isNestedTooDeep(value)) throw new NodeError(`The input "${name.slice(0, 60)}" is ${TOO_DEEP_TEXT}.`, 'too_deep')
    count += yield* checkInputSteps(name, value, MAX_SCRIPT_VALUES - count)
  }
  return checkLength(yield* stringifySteps(inputs))
}

/** `checkInput` in steps. */
function* checkInputSteps(name: string, value: unknown, left: number): Steps<number> {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || isSmallValue(value))
    return checkInput(name, value, left)
  const inside: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
  let count = 1
  yield
  for (const { from, to, isSmall } of splitIntoSmallRanges(inside.length, (at) => inside[at])) {
    for (let at = from; at < to; at++) {
      const inner = inside[at]
      count += isSmall ? checkInput(name, inner, left - count) : yield* checkInputSteps(name, inner, left - count)
    }
    yield
  }
  return count
}

function checkLength(text: string): string {
  if (text.length > LONGEST_JSON) throw new NodeError(`The inputs of the code are ${describeTooLong()}.`, 'too_large')
  return text
}

/** The number of values inside a plain value, or more than the limit. */
function countValues(value: unknown): number {
  let count = 0
  const open: unknown[] = [value]
  while (open.length > 0 && count <= MAX_SCRIPT_VALUES) {
    const next = open.pop()
    count++
    if (typeof next === 'object' && next !== null) for (const inner of Object.values(next)) open.push(inner)
  }
  return count
}

/** The problem of JSON from the engine, or null. Its time and memory are proportional to the text. */
export function findJsonProblem(text: string): string | null {
  if (text.length > LONGEST_JSON) return describeTooLong()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'no JSON'
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'no object with values by name'
  // The outer record names outputs or handles and is not counted as part of their values.
  if (Object.values(value).some(isNestedTooDeep)) return `values ${TOO_DEEP_TEXT}`
  if (countValues(value) > MAX_SCRIPT_VALUES) return describeTooMany()
  return estimateSize(value) === Number.POSITIVE_INFINITY ? describeTooManyKeys() : null
}

/** In characters: longer texts are parsed in steps. */
const LONG_TEXT = 65_536

/** Parses outputs or an item from text that the worker has validated. Long texts are parsed with `inSlices` if it is present. */
export function decodeOutputs(
  text: unknown,
  inSlices?: SandboxScript['inSlices'],
): OutputValues | Promise<OutputValues> {
  if (typeof text !== 'string' || text.length > LONGEST_JSON) {
    throw new NodeError(`The code returned ${describeTooLong()}.`, 'code_output')
  }
  if (!inSlices || text.length <= LONG_TEXT) return JSON.parse(text) as OutputValues
  // The engine measures the value next, which is then cached.
  return inSlices(makeMeasuredSteps(parseJsonSteps(Buffer.from(text)) as Steps<OutputValues>))
}
