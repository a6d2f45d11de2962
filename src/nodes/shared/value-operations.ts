// What several node types do with values: show them as text, compare and order them, follow a path into them.
import { NodeError } from '../../engine/node-api/node-type.ts'
import { getValueKind } from '../../engine/node-api/values/type-conformance.ts'
import { stringifyParts } from '../../shared/incremental-json.ts'
import type { Steps } from '../../shared/time-slices.ts'
import {
  abbreviate,
  countCompareSteps,
  createStepBudget,
  ensureTextLimit,
  guardDepth,
  guardJsonLength,
  LONGEST_TEXT,
  MOST_TOTAL_TEXT,
  type StepBudget,
} from './value-limits.ts'

/** A value as a person would read it in a text: text as it is, null as nothing, lists and dicts as JSON. */
export function toText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? toJson(value) : String(value)
}

/** A value as JSON. Throws NodeError where that is too long or nested too deep. */
export function toJson(value: unknown, indent = 0): string {
  guardJsonLength(value, indent)
  return ensureTextLimit(JSON.stringify(value, null, indent) ?? 'null')
}

/** `toJson` in steps, without an indent. The value is one that JSON has. */
export function* valueJsonSteps(value: unknown): Steps<string> {
  guardDepth(value)
  return ensureTextLimit(yield* stringifyParts(value, LONGEST_TEXT + 1)())
}

/** `toText` in steps. */
export function* valueTextSteps(value: unknown): Steps<string> {
  return typeof value === 'object' && value !== null ? yield* valueJsonSteps(value) : toText(value)
}

/**
 * Equality by content; the order of a dict's keys doesn't matter. Throws NodeError where there is too much to compare:
 * in one comparison, or in all that share a budget.
 */
export function areEqual(a: unknown, b: unknown, spend: StepBudget = createStepBudget()): boolean {
  if (typeof a === 'string' && typeof b === 'string') {
    if (a.length !== b.length) return false
    spend(countCompareSteps(a, b))
  }
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length) return false
    spend(a.length)
    return a.every((one, index) => areEqual(one, b[index], spend))
  }
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>]
  const keys = Object.keys(left)
  const others = Object.keys(right).length
  spend(keys.length + others)
  return (
    keys.length === others && keys.every((key) => Object.hasOwn(right, key) && areEqual(left[key], right[key], spend))
  )
}

/** In characters: what it takes to write even the shortest part of a key. */
const SHORTEST_PART_COST = 20

function writeCanonical(value: unknown, spend: StepBudget): string {
  spend(SHORTEST_PART_COST + (typeof value === 'string' ? value.length : 0))
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map((one) => writeCanonical(one, spend)).join(',')}]`
  const keys = Object.keys(value).length
  // Sorting them.
  spend(Math.ceil(keys * Math.log2(keys + 1) * (SHORTEST_PART_COST / 4)))
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  const written = entries.map(([key, one]) => {
    spend(key.length + SHORTEST_PART_COST)
    return `${JSON.stringify(key)}:${writeCanonical(one, spend)}`
  })
  return `{${written.join(',')}}`
}

/**
 * A key under which equal values meet: for sets and groups. Throws NodeError where that is too long, or where there is too
 * much to write, in characters, in all that share a budget.
 */
export function toCanonicalText(value: unknown, spend: StepBudget = createStepBudget(MOST_TOTAL_TEXT)): string {
  guardDepth(value)
  return ensureTextLimit(writeCanonical(value, spend))
}

/** Whether one of two values can be less than the other: numbers, texts, or yes and no. */
export function areComparable(a: unknown, b: unknown): boolean {
  return typeof a === typeof b && (typeof a === 'number' || typeof a === 'string' || typeof a === 'boolean')
}

/**
 * Negative, zero or positive, as `a` is less than, equal to or greater than `b`. Throws NodeError where they have no order,
 * or where there is too much to compare in all that share a budget.
 */
export function compareValues(a: unknown, b: unknown, spend?: StepBudget): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'string' && typeof b === 'string') {
    spend?.(countCompareSteps(a, b))
    return a < b ? -1 : a > b ? 1 : 0
  }
  if (areComparable(a, b)) return Number(a) - Number(b)
  const text = `${getValueKind(a)} and ${getValueKind(b)} have no order between them. Compare two numbers or two texts.`
  throw new NodeError(text, 'no_order')
}

/** In characters: far more than any path has that leads somewhere. */
const LONGEST_PATH = 100_000

/** What stands in brackets: a place of a list, or a key in quotes, which may have dots in it. */
const BRACKET_STEP = /\[(?:(-?\d+)|"([^"]*)"|'([^']*)')\]/g

function splitAtDots(path: string, piece: string): string[] {
  const parts = piece.split('.')
  if (parts.some((part, index) => part === '' && index > 0 && index < parts.length - 1)) {
    const text = `The path "${abbreviate(path)}" has nothing between two dots. Keys without a name or with dots are written as ["a.b"].`
    throw new NodeError(text, 'bad_path')
  }
  return parts.filter((part) => part !== '')
}

/** `a.b[0]["c.d"]` as its steps: keys are texts, places of lists numbers. An empty path has none. Throws NodeError `bad_path`. */
export function parsePath(path: string): (string | number)[] {
  if (path.length > LONGEST_PATH) {
    const most = LONGEST_PATH.toLocaleString('en')
    throw new NodeError(`The path "${abbreviate(path)}" has more than ${most} characters.`, 'bad_path')
  }
  const steps: (string | number)[] = []
  let from = 0
  for (const match of path.matchAll(BRACKET_STEP)) {
    const [all, place, key = match[3]!] = match
    for (const word of splitAtDots(path, path.slice(from, match.index))) steps.push(word)
    steps.push(place === undefined ? key : Number(place))
    from = match.index + all.length
  }
  for (const word of splitAtDots(path, path.slice(from))) steps.push(word)
  return steps
}

/** The same of a path that leads somewhere. Throws NodeError `bad_path`, for an empty one as well. */
export function parseNonEmptyPath(path: string): (string | number)[] {
  const steps = parsePath(path)
  if (steps.length === 0) throw new NodeError('The path is empty.', 'bad_path')
  return steps
}

/** The steps of a path as texts, where what lies there says whether they are keys or places. */
export function parsePathTexts(path: string): string[] {
  return parsePath(path).map(String)
}

/** What lies at a path inside a value: `undefined` where there is nothing. Only own keys count; −1 is the last item. */
export function readAtPath(value: unknown, parts: readonly string[]): unknown {
  let at = value
  for (const part of parts) {
    if (Array.isArray(at)) at = /^-?\d+$/.test(part) ? at.at(Number(part)) : undefined
    else if (typeof at === 'object' && at !== null && Object.hasOwn(at, part))
      at = (at as Record<string, unknown>)[part]
    else return undefined
  }
  return at
}

/** A record with one own key set, whatever the key is called. */
export function copyWithKey(record: Record<string, unknown>, key: string, value: unknown): Record<string, unknown> {
  return Object.fromEntries([...Object.entries(record).filter(([name]) => name !== key), [key, value]])
}

/** A number that nodes may hand on. */
export function requireFinite(value: number, what: string): number {
  if (!Number.isFinite(value)) throw new NodeError(`${what} is ${value}, which is no finite number.`, 'not_finite')
  return value
}

export type RoundingMode = 'nearest' | 'down' | 'up' | 'to_zero'

export const ROUNDING_FUNCTIONS: Readonly<Record<RoundingMode, (value: number) => number>> = {
  nearest: (value) => Math.sign(value) * Math.round(Math.abs(value)),
  down: Math.floor,
  up: Math.ceil,
  to_zero: Math.trunc,
}

/** A number with its decimal point moved: as it is written, so that 1.005 becomes exactly 100.5. */
function shiftDecimalPoint(value: number, digits: number): number {
  const [mantissa, exponent = '0'] = String(value).split('e')
  return Number(`${mantissa}e${Number(exponent) + digits}`)
}

/** Rounds to some digits after the point, in decimal: 1.005 to two digits is 1.01. Halves go away from zero. */
export function roundDecimal(value: number, digits: number, how: RoundingMode): number {
  const shifted = shiftDecimalPoint(value, digits)
  return Number.isFinite(shifted) ? shiftDecimalPoint(ROUNDING_FUNCTIONS[how](shifted), -digits) : value
}
