// What firings cost whose inputs do not show it by their size alone, in nanoseconds: the engine has those that take long run apart. These
// are estimates, rather too high than too low; no result hangs on them. Those of tables are in table-costs.ts.

import type { InputValues } from '../../engine/node-api/node-type.ts'
import { estimateSize } from '../../engine/node-api/values/measure.ts'
import { readDate } from './date-time.ts'

/** What a unit of the size of other inputs costs. */
export const COST_PER_UNIT = 100

/** What has more units, or characters, is costly without a count of what is in it. */
export const MOST_COUNTED_UNITS = 40_000

export function lengthOfValue(value: unknown): number {
  if (typeof value === 'string' || Array.isArray(value)) return value.length
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0
}

/** A step of the matching machine, and one of a formula. */
const PATTERN_STEP = 100
const FORMULA_STEP = 15

const REPEAT_QUANTIFIER = /\{(\d+)(?:,(\d*))?\}/g

/**
 * About how many instructions a pattern has: an empty one has the end, which is found everywhere. What is repeated several times over has at most
 * 1,000 of them for each character.
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

/** Where a class ends with a letter that is no plain one. Where case counts for nothing, the forms of all letters up to it are looked for. */
const WIDE_RANGE = /-(?:[^\0-\x7f]|\\x)/g
const WIDE_RANGE_COST = 4_000_000

/** A class of letters all over the world, such as `\pL`: its table is copied, and where case counts for nothing its letters are looked up. */
const UNICODE_CLASS = /\\p/gi
const OF_CLASS = 120_000
/** An instruction that is made ready. */
const INSTRUCTION = 1_500

/** Of making a pattern ready to be matched, besides what every one takes. */
export function costOfCompiling(pattern: string): number {
  if (pattern.length > MOST_COUNTED_UNITS) return 0
  const [ranges, classes] = [WIDE_RANGE, UNICODE_CLASS].map((part) => pattern.match(part)?.length ?? 0)
  return ranges! * WIDE_RANGE_COST + classes! * OF_CLASS + countPatternInstructions(pattern) * INSTRUCTION
}

/** Of the first match of a pattern. */
export function costOfPattern(text: unknown, pattern: unknown): number {
  if (typeof pattern !== 'string') return 0
  return costOfCompiling(pattern) + lengthOfValue(text) * countPatternInstructions(pattern) * PATTERN_STEP
}

const UNBOUNDED_QUANTIFIER = /[*+]|\{\d+,\}/
/** A character that is read once more, besides what the pattern takes. */
const CHARACTER_COST = 24

/** Of all matches of a pattern: each is searched for from its beginning on, and may be read for as far as the pattern reaches. */
export function costOfAllMatches(text: unknown, pattern: unknown): number {
  if (typeof pattern !== 'string' || pattern.length > MOST_COUNTED_UNITS) return 0
  const [length, size] = [lengthOfValue(text), countPatternInstructions(pattern)]
  const reach = UNBOUNDED_QUANTIFIER.test(pattern) ? length : Math.min(length, size)
  return costOfPattern(text, pattern) + length * reach * (size + CHARACTER_COST)
}

/** Of a formula for each of many values. */
export function costOfFormula(values: unknown, formula: unknown): number {
  return lengthOfValue(values) * lengthOfValue(formula) * FORMULA_STEP + estimateSize(values) * 10
}

/** Of what is done for each pair out of two. */
export function costOfPairs(a: unknown, b: unknown, each: number): number {
  return lengthOfValue(a) * lengthOfValue(b) * each
}

/** Of a list that is cut: each piece is a list of its own. */
export function costOfChunks(list: unknown, size: unknown): number {
  return lengthOfValue(list) * 2 + (lengthOfValue(list) / Number(size)) * COST_PER_UNIT
}

/** Of windows over a list, each with so many items. */
export function costOfWindows(list: unknown, size: unknown): number {
  return lengthOfValue(list) * Number(size) * 20
}

/** Of patterns by column, in all texts of a table. */
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

/** A line of each text compared with each of the other. */
const LINE_PAIR_COST = 40

export function costOfDiff({ a, b }: InputValues): number {
  const lines = (text: unknown) => (typeof text === 'string' ? text.split('\n', 10_000).length : 0)
  return lines(a) * lines(b) * LINE_PAIR_COST + (lengthOfValue(a) + lengthOfValue(b)) * COST_PER_UNIT
}

const SECOND = 1_000
const DAY = 86_400 * SECOND
/** Milliseconds of each unit of a range, at least. */
const SHORTEST_SPANS_MS: Readonly<Record<string, number>> = {
  week: 7 * DAY,
  day: DAY,
  hour: DAY / 24,
  minute: DAY / 1_440,
  second: SECOND,
}
const LONGER_SPAN_MS = 28 * DAY
/** What a date of a range costs, and how many there may be. */
const DATE_COST = 20_000
const MOST_DATES = 20_000

/** Not by `Date.parse`, which reads long texts to their end, and no leap second. */
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

/** A character of what is written again and again, and each time. */
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

/** A character of a template, each time that it is written. */
const TEMPLATE_CHARACTER_COST = 20
const SECTION_TAG = /\{\{([#^/])/g

/** How many sections of a template stand within each other at most. */
function sectionDepth(template: string): number {
  let [depth, deepest] = [0, 0]
  for (const { 1: sign } of template.matchAll(SECTION_TAG)) {
    depth += sign === '/' ? -1 : 1
    deepest = Math.max(deepest, depth)
  }
  return deepest
}

/** How many items the longest list has, wherever it lies. */
function longestListLength(value: unknown, seen = new Set<object>()): number {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || seen.has(value)) return 0
  seen.add(value)
  const inner = Object.values(value)
  return inner.reduce<number>(
    (most, one) => Math.max(most, longestListLength(one, seen)),
    Array.isArray(value) ? inner.length : 0,
  )
}

/** Of templates: a section is written once for each item of a list, and one within it as often for each of those. */
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

/** A character of the path of a value, and how many make a firing costly. */
const PATH_CHARACTER_COST = 7
const MOST_PATH_CHARACTERS = 1_000_000

/** Characters of the paths of all that is in a value, whose own path has `before`; it stops at so many. */
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

/** A number that is drawn by chance, and where it leads. */
export const COST_PER_DRAW = 50

/** Of a list of whose items each is drawn, moved or weighed, whatever it is. */
export function costOfDrawnItems(list: unknown): number {
  return lengthOfValue(list) * COST_PER_DRAW
}
