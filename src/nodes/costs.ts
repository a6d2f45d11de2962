// What firings cost whose inputs do not show it by their size alone, in nanoseconds: the engine has those that take long run apart. These
// are estimates, rather too high than too low; no result hangs on them.
import { sizeOf } from '../engine/measure.ts'
import type { Inputs } from '../engine/node-type.ts'

/** What a unit of the size of other inputs costs. */
const UNIT = 100

function lengthOf(value: unknown): number {
  if (typeof value === 'string' || Array.isArray(value)) return value.length
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0
}

/** A step of the matching machine, and one of a formula. */
const PATTERN_STEP = 100
const FORMULA_STEP = 15

const REPEAT = /\{(\d+)(?:,(\d*))?\}/g

/** About how many instructions a pattern has. What is repeated several times over has at most 1,000 of them for each character. */
function sizeOfPattern(pattern: string): number {
  let size = pattern.length
  for (const { 1: least, 2: most, index } of pattern.matchAll(REPEAT)) {
    const times = Math.max(Number(least), Number(most ?? 0))
    size += pattern[index - 1] === ')' ? size * times : times
  }
  return Math.min(size, pattern.length * 1_000)
}

export function costOfPattern(text: unknown, pattern: unknown): number {
  return typeof pattern === 'string' ? lengthOf(text) * sizeOfPattern(pattern) * PATTERN_STEP : 0
}

/** Of a formula for each of many values. */
export function costOfFormula(values: unknown, formula: unknown): number {
  return lengthOf(values) * lengthOf(formula) * FORMULA_STEP + sizeOf(values) * 10
}

/** Of what is done for each pair out of two. */
export function costOfPairs(a: unknown, b: unknown, each: number): number {
  return lengthOf(a) * lengthOf(b) * each
}

/** Of windows over a list, each with so many items. */
export function costOfWindows(list: unknown, size: unknown): number {
  return lengthOf(list) * Number(size) * 20
}

/** Of patterns by column, in all texts of a table. */
export function costOfFilter({ rows, formula, matches }: Inputs): number {
  const patterns = Object.values((matches ?? {}) as Record<string, unknown>)
  const size = sizeOf(rows)
  let cost = costOfFormula(rows, formula) + size * 10
  for (const pattern of patterns) if (typeof pattern === 'string') cost += size * sizeOfPattern(pattern) * PATTERN_STEP
  return cost
}

/** A joined row for each pair in the worst case. */
const JOINED = 100

export function costOfJoin({ left, right }: Inputs): number {
  return costOfPairs(left, right, JOINED) + (sizeOf(left) + sizeOf(right)) * UNIT
}

/** A line of each text compared with each of the other. */
const COMPARED_LINES = 40

export function costOfDiff({ a, b }: Inputs): number {
  const lines = (text: unknown) => (typeof text === 'string' ? text.split('\n', 10_000).length : 0)
  return lines(a) * lines(b) * COMPARED_LINES + (lengthOf(a) + lengthOf(b)) * UNIT
}

const SECOND = 1_000
const DAY = 86_400 * SECOND
/** Milliseconds of each unit of a range, at least. */
const SPANS: Readonly<Record<string, number>> = {
  week: 7 * DAY,
  day: DAY,
  hour: DAY / 24,
  minute: DAY / 1_440,
  second: SECOND,
}
const LONGER_SPAN = 28 * DAY
/** What a date of a range costs, and how many there may be. */
const DATE = 20_000
const MOST_DATES = 20_000

export function costOfDates({ from, to, step, unit }: Inputs): number {
  const between = Date.parse(String(to)) - Date.parse(String(from))
  const count = Math.abs(between) / ((SPANS[String(unit)] ?? LONGER_SPAN) * Math.max(1, Math.abs(Number(step))))
  return Number.isNaN(count) ? 0 : Math.min(count, MOST_DATES) * DATE
}

/** A character of what is written again and again. */
const WRITTEN = 2

export function costOfRepeat({ text, times, separator }: Inputs): number {
  return (lengthOf(text) + lengthOf(separator)) * Number(times) * WRITTEN
}

export function costOfPad({ text, length, fill }: Inputs): number {
  return (Math.max(lengthOf(text), Number(length)) + lengthOf(fill)) * WRITTEN
}

/** A cell of a table, be it empty. */
const CELL = 100

/** What has more is costly without its cells being counted. */
const COUNTED = 40_000

/** Of CSV, which may have many more cells than characters: short rows are filled up. */
export function costOfCsv(text: unknown, separator: unknown): number {
  const length = lengthOf(text)
  if (typeof text !== 'string' || length > COUNTED) return length * UNIT
  const lines = text.split('\n')
  const columns = typeof separator === 'string' ? lines[0]!.split(separator).length : 1
  return length * UNIT + lines.length * columns * CELL
}

export function costOfCsvFile({ file, separator }: Inputs): number {
  const { bytes } = file as { bytes: Uint8Array }
  if (bytes.length > COUNTED) return bytes.length * UNIT
  return costOfCsv(Buffer.from(bytes).toString('latin1'), separator)
}

/** Of each column of a table in each row, be it there or not. */
export function costOfCells(rows: unknown): number {
  const size = sizeOf(rows)
  if (!Array.isArray(rows) || size > COUNTED) return size * UNIT
  const columns = new Set(rows.flatMap((row) => Object.keys(row ?? {})))
  return size * UNIT + rows.length * columns.size * CELL
}

/** Of a table that may get a column of each of its rows. */
export function costOfPivot({ rows }: Inputs): number {
  return sizeOf(rows) * UNIT + lengthOf(rows) ** 2 * (CELL / 4)
}

/** A number that is drawn by chance, and where it leads. */
export const DRAWN = 50

/** Of a list of whose items each is drawn, moved or weighed, whatever it is. */
export function costOfItems(list: unknown): number {
  return lengthOf(list) * DRAWN
}
