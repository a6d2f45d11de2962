// The sides of a chart and its legend: which column each shows, and what is written beside it so that all of it fits into the picture.

import { removeControlCharacters } from '../image/text-rendering.ts'
import type { ChartColumn, ChartValues, ColumnKind } from './column-values.ts'
import { LABEL_SIZE, measureText } from './font-metrics.ts'
import type { ChartOptions, VegaSpec } from './rendering.ts'

export interface ChartParams extends ChartOptions {
  readonly columns: Readonly<Record<string, ChartColumn>>
  /** Titles by role; of those that are null, none is drawn. */
  readonly titles: Readonly<Record<string, string | null>>
  /** Whether names stand beside the chart and not below it. */
  readonly horizontal?: boolean
}

const VEGA_TYPES: Readonly<Record<ColumnKind, string>> = {
  number: 'quantitative',
  time: 'temporal',
  category: 'nominal',
}

/** A moment by its smallest part that is not zero, in UTC. */
const TIME_FORMATS = {
  year: '%Y',
  quarter: '%b',
  month: '%b',
  week: '%b %-d',
  date: '%b %-d',
  hours: '%H:%M',
  minutes: '%H:%M',
  seconds: '%H:%M:%S',
}

/** One side of a chart, or its colour: a column by its role. Names stand in the order in which they are first seen. */
export function createChannel(role: string, read: ChartValues, asked: ChartParams, more: VegaSpec = {}): VegaSpec {
  const kind = read.kinds[role]!
  const own = { number: numberAxis, time: timeAxis, category: categoryAxis }[kind](role, read, asked)
  return { field: role, type: VEGA_TYPES[kind], title: titleOf(role, asked), ...own, ...more }
}

/** Rows that are counted: no part of one. */
export function createCountChannel(asked: ChartParams): VegaSpec {
  return {
    aggregate: 'count',
    type: 'quantitative',
    title: titleOf('y', asked),
    axis: { format: ',d', tickMinStep: 1 },
  }
}

function titleOf(role: string, { titles }: ChartParams): string | null {
  return removeControlCharacters(titles[role] ?? '') || null
}

function timeAxis(): VegaSpec {
  return { scale: { type: 'utc' }, axis: { format: TIME_FORMATS } }
}

/** Where all are the same, no step says how many places they have. */
function numberAxis(role: string, { values }: ChartValues): VegaSpec {
  const all = values.map((row) => row[role] as number)
  const [least, most] = [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))]
  const comma = role === 'x' && all.every(isYear) ? '' : ','
  return { axis: { format: least === most ? `${comma}.12~g` : `${comma}f` } }
}

/** What is taken for one along a chart is written without a comma. */
function isYear(value: number): boolean {
  return Number.isInteger(value) && value >= 1_000 && value < 3_000
}

/** Names below a chart are level where there is room for all of them, and else upright. Of those that would lie over each other some are left out. */
function categoryAxis(
  role: string,
  { values, kinds }: ChartValues,
  { width, height, horizontal }: ChartParams,
): VegaSpec {
  if (role === 'colour') return { sort: null }
  const all = new Set(values.map((row) => removeControlCharacters(String(row[role]))))
  const longest = [...all].reduce((most, name) => Math.max(most, measureText(name, LABEL_SIZE, false)), 0)
  const level = (longest + LABEL_SIZE) * all.size < width * 0.8
  const below = level ? { labelAngle: 0, labelLimit: width } : { labelLimit: height * 0.4 }
  const way = horizontal ? { labelLimit: width * (kinds.colour ? 0.25 : 0.4) } : below
  return { sort: null, axis: { labelOverlap: 'greedy', ...way } }
}
