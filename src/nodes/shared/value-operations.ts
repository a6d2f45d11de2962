// Operations on values that several node types share: text forms, comparison, order, and paths.
import { NodeError } from '../../engine/node-api/node-error.ts'
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

/** A value as readable text: strings unchanged, null as empty, lists and objects as JSON. */
export function toText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? toJson(value) : String(value)
}

/** A value as JSON. Throws NodeError if that is too long or nested too deep. */
export function toJson(value: unknown, indent = 0): string {
  guardJsonLength(value, indent)
  return ensureTextLimit(JSON.stringify(value, null, indent) ?? 'null')
}

/** `toJson` in steps, without an indent. The value must be a JSON value. */
export function* valueJsonSteps(value: unknown): Steps<string> {
  guardDepth(value)
  return ensureTextLimit(yield* stringifyParts(value, LONGEST_TEXT + 1)())
}

/** `toText` in steps. */
export function* valueTextSteps(value: unknown): Steps<string> {
  return typeof value === 'object' && value !== null ? yield* valueJsonSteps(value) : toText(value)
}

/**
 * Equality by content; the order of keys does not matter. Throws NodeError if there is too much to compare, in one comparison or in all
 * that share a budget.
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

/** In characters: the cost of writing even the shortest part of a key. */
const SHORTEST_PART_COST = 20

function writeCanonical(value: unknown, spend: StepBudget): string {
  spend(SHORTEST_PART_COST + (typeof value === 'string' ? value.length : 0))
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map((one) => writeCanonical(one, spend)).join(',')}]`
  const keys = Object.keys(value).length
  // The cost of sorting the keys.
  spend(Math.ceil(keys * Math.log2(keys + 1) * (SHORTEST_PART_COST / 4)))
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  const written = entries.map(([key, one]) => {
    spend(key.length + SHORTEST_PART_COST)
    return `${JSON.stringify(key)}:${writeCanonical(one, spend)}`
  })
  return `{${written.join(',')}}`
}

/**
 * A key that is the same for equal values, for sets and groups. Throws NodeError if it is too long, or if the characters of all keys that
 * share a budget exceed it.
 */
export function toCanonicalText(value: unknown, spend: StepBudget = createStepBudget(MOST_TOTAL_TEXT)): string {
  guardDepth(value)
  return ensureTextLimit(writeCanonical(value, spend))
}

/** Whether two values can be ordered: both are numbers, both texts, or both booleans. */
export function areComparable(a: unknown, b: unknown): boolean {
  return typeof a === typeof b && (typeof a === 'number' || typeof a === 'string' || typeof a === 'boolean')
}

/**
 * Negative, zero or positive, if `a` is less than, equal to or greater than `b`. Throws NodeError if they cannot be ordered, or if there is
 * too much to compare in all comparisons that share a budget.
 */
export function compareValues(a: unknown, b: unknown, spend?: StepBudget): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'string' && typeof b === 'string') {
    spend?.(countCompareSteps(a, b))
    return a < b ? -1 : a > b ? 1 : 0
  }
  if (areComparable(a, b)) return Number(a) - Number(b)
  const text = `${getValueKind(a)} and ${getValueKind(b)} cannot be ordered. Compare two numbers or two texts.`
  throw new NodeError(text, 'no_order')
}

/** In characters: far more than any useful path has. */
const LONGEST_PATH = 100_000

/** Matches brackets with a position of a list, or with a quoted key, which may contain dots. */
const BRACKET_STEP = /\[(?:(-?\d+)|"([^"]*)"|'([^']*)')\]/g

function splitAtDots(path: string, piece: string): string[] {
  const parts = piece.split('.')
  if (parts.some((part, index) => part === '' && index > 0 && index < parts.length - 1)) {
    const text = `The path "${abbreviate(path)}" has no key between two dots. Write keys that are empty or have dots as ["a.b"].`
    throw new NodeError(text, 'bad_path')
  }
  return parts.filter((part) => part !== '')
}

/**
 * Parses `a.b[0]["c.d"]` into steps: keys are texts, positions of lists are numbers. An empty path has no steps. Throws NodeError
 * `bad_path`.
 */
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

/** Parses a path that must not be empty. Throws NodeError `bad_path`. */
export function parseNonEmptyPath(path: string): (string | number)[] {
  const steps = parsePath(path)
  if (steps.length === 0) throw new NodeError('The path is empty.', 'bad_path')
  return steps
}

/** The steps of a path as texts. The value at each step decides whether it is a key or a position. */
export function parsePathTexts(path: string): string[] {
  return parsePath(path).map(String)
}

/** The value at a path inside a value, or `undefined`. Only own keys count; −1 is the last item. */
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

/** A record with one own key set, even if the key is `__proto__`. */
export function copyWithKey(record: Record<string, unknown>, key: string, value: unknown): Record<string, unknown> {
  return Object.fromEntries([...Object.entries(record).filter(([name]) => name !== key), [key, value]])
}

/** Returns a number that nodes may pass on. Throws NodeError `not_finite`. */
export function requireFinite(value: number, what: string): number {
  if (!Number.isFinite(value)) throw new NodeError(`${what} is ${value}, which is not a finite number.`, 'not_finite')
  return value
}

export type RoundingMode = 'nearest' | 'down' | 'up' | 'to_zero'

export const ROUNDING_FUNCTIONS: Readonly<Record<RoundingMode, (value: number) => number>> = {
  nearest: (value) => Math.sign(value) * Math.round(Math.abs(value)),
  down: Math.floor,
  up: Math.ceil,
  to_zero: Math.trunc,
}

/** Moves the decimal point in the number's text, so that 1.005 becomes exactly 100.5. */
function shiftDecimalPoint(value: number, digits: number): number {
  const [mantissa, exponent = '0'] = String(value).split('e')
  return Number(`${mantissa}e${Number(exponent) + digits}`)
}

/** Rounds in decimal to some digits after the point: 1.005 to two digits is 1.01. Halves are rounded away from zero. */
export function roundDecimal(value: number, digits: number, how: RoundingMode): number {
  const shifted = shiftDecimalPoint(value, digits)
  return Number.isFinite(shifted) ? shiftDecimalPoint(ROUNDING_FUNCTIONS[how](shifted), -digits) : value
}
