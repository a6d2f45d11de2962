// Costs of firings in nanoseconds, where the size of the inputs does not show them: the engine runs long firings in a worker. The costs are
// estimates, rather too high than too low, and no result depends on them. Costs of tables are in table-costs.ts.

import type { InputValues } from '../../engine/node-api/firing-forms.ts'
import { estimateSize } from '../../engine/node-api/values/measure.ts'
import { readDate } from './date-time.ts'

/** The cost per unit of size of other inputs. */
export const COST_PER_UNIT = 100

/** Inputs with more units or characters count as costly without a closer look. */
export const MOST_COUNTED_UNITS = 40_000

export function lengthOfValue(value: unknown): number {
  if (typeof value === 'string' || Array.isArray(value)) return value.length
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0
}

/** The cost of a step of the matching machine, and of a step of a formula. */
const PATTERN_STEP = 100
const FORMULA_STEP = 15

const REPEAT_QUANTIFIER = /\{(\d+)(?:,(\d*))?\}/g

/**
 * The approximate number of instructions of a pattern. An empty pattern has one, which matches everywhere. Nested repeats count at most
 * 1,000 instructions per character.
 */
function countPatternInstructions(pattern: string): number {
  let size = Math.max(1, pattern.length)
  if (size > MOST_COUNTED_UNITS) return size
  for (const { 1: least, 2: most, index } of pattern.matchAll(REPEAT_QUANTIFIER)) {
    const times = Math.max(Number(least), Number(most ?? 0))
    size += pattern[index - 1] === ')' ? size * times : times
  }
  return Math.min(size, Math.max(1, pattern.length) * 1_000)
}

/** Matches a character range that ends beyond ASCII. Without case, the forms of all letters in it are looked up. */
const WIDE_RANGE = /-(?:[^\0-\x7f]|\\x)/g
const WIDE_RANGE_COST = 4_000_000

/** Matches a Unicode class such as `\pL`: its table is copied, and without case its letters are looked up. */
const UNICODE_CLASS = /\\p/gi
const OF_CLASS = 120_000
/** The cost of compiling an instruction. */
const INSTRUCTION = 1_500

/** The cost of compiling a pattern, besides the constant part. */
export function costOfCompiling(pattern: string): number {
  if (pattern.length > MOST_COUNTED_UNITS) return 0
  const [ranges, classes] = [WIDE_RANGE, UNICODE_CLASS].map((part) => pattern.match(part)?.length ?? 0)
  return ranges! * WIDE_RANGE_COST + classes! * OF_CLASS + countPatternInstructions(pattern) * INSTRUCTION
}

/** The cost of finding the first match of a pattern. */
export function costOfPattern(text: unknown, pattern: unknown): number {
  if (typeof pattern !== 'string') return 0
  return costOfCompiling(pattern) + lengthOfValue(text) * countPatternInstructions(pattern) * PATTERN_STEP
}

const UNBOUNDED_QUANTIFIER = /[*+]|\{\d+,\}/
/** The cost of reading a character once more, besides that of the pattern. */
const CHARACTER_COST = 24

/** The cost of finding all matches. Each search starts behind the match before and may read as far as the pattern reaches. */
export function costOfAllMatches(text: unknown, pattern: unknown): number {
  if (typeof pattern !== 'string' || pattern.length > MOST_COUNTED_UNITS) return 0
  const [length, size] = [lengthOfValue(text), countPatternInstructions(pattern)]
  const reach = UNBOUNDED_QUANTIFIER.test(pattern) ? length : Math.min(length, size)
  return costOfPattern(text, pattern) + length * reach * (size + CHARACTER_COST)
}

/** The cost of a formula for each of many values. */
export function costOfFormula(values: unknown, formula: unknown): number {
  return lengthOfValue(values) * lengthOfValue(formula) * FORMULA_STEP + estimateSize(values) * 10
}

/** The cost of work on each pair of two lists. */
export function costOfPairs(a: unknown, b: unknown, each: number): number {
  return lengthOfValue(a) * lengthOfValue(b) * each
}

/** The cost of splitting a list: each chunk is a list. */
export function costOfChunks(list: unknown, size: unknown): number {
  return lengthOfValue(list) * 2 + (lengthOfValue(list) / Number(size)) * COST_PER_UNIT
}

/** The cost of windows over a list. */
export function costOfWindows(list: unknown, size: unknown): number {
  return lengthOfValue(list) * Number(size) * 20
}

/** The cost of patterns by column, in all texts of a table. */
export function costOfFilter({ rows, formula, matches }: InputValues): number {
  const patterns = Object.values((matches ?? {}) as Record<string, unknown>)
  const size = estimateSize(rows)
  let cost = costOfFormula(rows, formula) + size * 10
  for (const pattern of patterns) {
    if (typeof pattern === 'string')
      cost += costOfCompiling(pattern) + size * countPatternInstructions(pattern) * PATTERN_STEP
  }
  return cost
}

/** The cost of comparing a line of one text with a line of the other. */
const LINE_PAIR_COST = 40

export function costOfDiff({ a, b }: InputValues): number {
  const lines = (text: unknown) => (typeof text === 'string' ? text.split('\n', 10_000).length : 0)
  return lines(a) * lines(b) * LINE_PAIR_COST + (lengthOfValue(a) + lengthOfValue(b)) * COST_PER_UNIT
}

const SECOND = 1_000
const DAY = 86_400 * SECOND
/** The shortest length of each unit of a range, in milliseconds. */
const SHORTEST_SPANS_MS: Readonly<Record<string, number>> = {
  week: 7 * DAY,
  day: DAY,
  hour: DAY / 24,
  minute: DAY / 1_440,
  second: SECOND,
}
const LONGER_SPAN_MS = 28 * DAY
/** The cost of a date of a range, and the most dates of a range. */
const DATE_COST = 20_000
const MOST_DATES = 20_000

/** `Date.parse` would read long texts to their end, and does not know leap seconds. */
function toEpochMilliseconds(date: unknown, zone: unknown): number {
  try {
    return readDate(String(date), String(zone)).epochMilliseconds
  } catch {
    return Number.NaN
  }
}

export function costOfDates({ from, to, step, unit, zone }: InputValues): number {
  const between = toEpochMilliseconds(to, zone) - toEpochMilliseconds(from, zone)
  const count =
    Math.abs(between) / ((SHORTEST_SPANS_MS[String(unit)] ?? LONGER_SPAN_MS) * Math.max(1, Math.abs(Number(step))))
  return Number.isNaN(count) ? 0 : Math.min(count, MOST_DATES) * DATE_COST
}

/** The cost of a repeated character, and of each repetition. */
const WRITTEN_CHARACTER_COST = 2
const REPETITION_COST = 60

export function costOfRepeat({ text, times, separator }: InputValues): number {
  return ((lengthOfValue(text) + lengthOfValue(separator)) * WRITTEN_CHARACTER_COST + REPETITION_COST) * Number(times)
}

export function costOfTrim({ text, collapse }: InputValues): number {
  return lengthOfValue(text) * (collapse ? COST_PER_UNIT : WRITTEN_CHARACTER_COST)
}

export function costOfPad({ text, length, fill }: InputValues): number {
  return (Math.max(lengthOfValue(text), Number(length)) + lengthOfValue(fill)) * WRITTEN_CHARACTER_COST
}

/** The cost of a template character, each time that it is written. */
const TEMPLATE_CHARACTER_COST = 20
const SECTION_TAG = /\{\{([#^/])/g

/** The depth of nested sections in a template. */
function sectionDepth(template: string): number {
  let [depth, deepest] = [0, 0]
  for (const { 1: sign } of template.matchAll(SECTION_TAG)) {
    depth += sign === '/' ? -1 : 1
    deepest = Math.max(deepest, depth)
  }
  return deepest
}

/** The length of the longest list in a value, at any depth. */
function longestListLength(value: unknown, seen = new Set<object>()): number {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || seen.has(value)) return 0
  seen.add(value)
  const inner = Object.values(value)
  return inner.reduce<number>(
    (most, one) => Math.max(most, longestListLength(one, seen)),
    Array.isArray(value) ? inner.length : 0,
  )
}

/** The cost of templates. A section is written once for each item of a list, and an inner section as often for each of those. */
export function costOfSections({ system, template, ...inputs }: InputValues): number {
  const size = Object.values(inputs).reduce<number>(
    (sum, value) => sum + estimateSize(value),
    lengthOfValue(system) + lengthOfValue(template),
  )
  if (size > MOST_COUNTED_UNITS) return size * COST_PER_UNIT
  const deep = [String(system), String(template)].filter((one) => sectionDepth(one) > 0)
  if (deep.length === 0) return size * COST_PER_UNIT
  const items = Math.max(1, longestListLength(inputs))
  return deep.reduce(
    (sum, one) => sum + one.length * items ** sectionDepth(one) * TEMPLATE_CHARACTER_COST,
    size * COST_PER_UNIT,
  )
}

/** The cost of a path character, and the number of characters that makes a firing costly. */
const PATH_CHARACTER_COST = 7
const MOST_PATH_CHARACTERS = 1_000_000

/** The characters of the paths of all values inside a value, whose own path has `before` characters. The count stops at the limit. */
function countPathCharacters(value: unknown, before = 0, left = MOST_PATH_CHARACTERS): number {
  if (typeof value !== 'object' || value === null) return before
  let sum = 0
  for (const [key, one] of Object.entries(value)) {
    sum += countPathCharacters(one, before + key.length + 1, left - sum)
    if (sum > left) break
  }
  return sum
}

export function costOfPaths({ dict }: InputValues): number {
  const size = estimateSize(dict)
  return size * COST_PER_UNIT + (size > MOST_COUNTED_UNITS ? 0 : countPathCharacters(dict) * PATH_CHARACTER_COST)
}

/** The cost of a random number and the work on its item. */
export const COST_PER_DRAW = 50

/** The cost of drawing, moving or weighing each item of a list. */
export function costOfDrawnItems(list: unknown): number {
  return lengthOfValue(list) * COST_PER_DRAW
}
