// Values on their way into the sandbox and out of it: checked on either side, and JSON text in between.
import { isTooDeep, measuredSteps, sizeOf, TOO_DEEP, tooManyKeys } from '../engine/measure.ts'
import { NodeError } from '../engine/node-error.ts'
import type { Outputs } from '../engine/node-type.ts'
import type { Script } from '../engine/services.ts'
import { jsonTextSteps } from '../json-steps.ts'
import { isLight, lightParts } from '../light-parts.ts'
import { parseJsonInParts } from '../payloads/json-parts.ts'
import type { Steps } from '../time-slices.ts'
import { LONGEST_JSON, MOST_VALUES } from './limits.ts'

// Written when they are needed: writing the first number of a language takes longer than the rest of this file's start.
const tooMany = () => `more than ${MOST_VALUES.toLocaleString('en')} values`
const tooLong = () => `more than ${LONGEST_JSON.toLocaleString('en')} characters of JSON`

function refuse(name: string, what: string): never {
  throw new NodeError(`Code cannot take the input "${name.slice(0, 60)}": ${what}.`, 'bad_input')
}

/** What keeps a value other than a list or dict from being JSON, or null. */
function unfit(value: unknown): string | null {
  if (typeof value === 'number' && !Number.isFinite(value)) return `it holds ${value}, which is no finite number`
  if (typeof value === 'bigint') return 'it holds a BigInt; make a number or a text of it'
  if (typeof value === 'function' || typeof value === 'symbol') return `it holds a ${typeof value}`
  if (ArrayBuffer.isView(value)) return 'it holds bytes; make a text of them first, such as base64'
  return null
}

/** Throws NodeError where a value isn't plain. Gives how many values lie in it. */
function checkInput(name: string, value: unknown, left: number): number {
  if (left < 0) throw new NodeError(`The inputs of the code hold ${tooMany()}.`, 'too_large')
  const reason = unfit(value)
  if (reason) refuse(name, reason)
  if (typeof value !== 'object' || value === null) return 1
  let count = 1
  if (Array.isArray(value)) for (const inner of value) count += checkInput(name, inner, left - count)
  else for (const inner of Object.values(value)) count += checkInput(name, inner, left - count)
  return count
}

/** The inputs of a call as JSON. Throws NodeError `bad_input`, `too_large` or `too_deep`. */
export function inputsJson(inputs: Readonly<Record<string, unknown>>): string {
  let count = 0
  for (const [name, value] of Object.entries(inputs)) {
    if (isTooDeep(value)) throw new NodeError(`The input "${name.slice(0, 60)}" is ${TOO_DEEP}.`, 'too_deep')
    count += checkInput(name, value, MOST_VALUES - count)
  }
  return guardLength(JSON.stringify(inputs))
}

/** The same of large inputs, in steps. */
export function* inputsJsonSteps(inputs: Readonly<Record<string, unknown>>): Steps<string> {
  let count = 0
  for (const [name, value] of Object.entries(inputs)) {
    if (isTooDeep(value)) throw new NodeError(`The input "${name.slice(0, 60)}" is ${TOO_DEEP}.`, 'too_deep')
    count += yield* checkSteps(name, value, MOST_VALUES - count)
  }
  return guardLength(yield* jsonTextSteps(inputs))
}

/** As `checkInput`. */
function* checkSteps(name: string, value: unknown, left: number): Steps<number> {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || isLight(value))
    return checkInput(name, value, left)
  const inside: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
  let count = 1
  yield
  for (const { from, to, light } of lightParts(inside.length, (at) => inside[at])) {
    for (let at = from; at < to; at++) {
      const inner = inside[at]
      count += light ? checkInput(name, inner, left - count) : yield* checkSteps(name, inner, left - count)
    }
    yield
  }
  return count
}

function guardLength(text: string): string {
  if (text.length > LONGEST_JSON) throw new NodeError(`The inputs of the code are ${tooLong()}.`, 'too_large')
  return text
}

/** How many values lie in a plain value, or more than the most. */
function countValues(value: unknown): number {
  let count = 0
  const open: unknown[] = [value]
  while (open.length > 0 && count <= MOST_VALUES) {
    const next = open.pop()
    count++
    if (typeof next === 'object' && next !== null) for (const inner of Object.values(next)) open.push(inner)
  }
  return count
}

/** What is wrong with JSON that came out of the engine, or null. Needs time and memory in proportion to it. */
export function jsonProblem(text: string): string | null {
  if (text.length > LONGEST_JSON) return tooLong()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'no JSON'
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'no object with values by name'
  // The record that names outputs or an item's handles is not part of their values.
  if (Object.values(value).some(isTooDeep)) return `values ${TOO_DEEP}`
  if (countValues(value) > MOST_VALUES) return tooMany()
  return sizeOf(value) === Number.POSITIVE_INFINITY ? tooManyKeys() : null
}

/** In characters: a longer text is read in steps. */
const LONG = 65_536

/** Outputs by name, or an item. The text has been checked by the worker. A long one is read `inSlices`, where there are any. */
export function outputsOf(text: unknown, inSlices?: Script['inSlices']): Outputs | Promise<Outputs> {
  if (typeof text !== 'string' || text.length > LONGEST_JSON) {
    throw new NodeError(`What the code gave is ${tooLong()}.`, 'code_output')
  }
  if (!inSlices || text.length <= LONG) return JSON.parse(text) as Outputs
  // The engine asks how large it is next: what was measured is known.
  return inSlices(measuredSteps(parseJsonInParts(Buffer.from(text)) as Steps<Outputs>))
}
