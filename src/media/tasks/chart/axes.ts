// Makes the axes and the legend of a chart: their columns, titles and labels, so that all of it fits into the image.

import { removeControlCharacters } from '../image/text-rendering.ts'
import type { ChartColumn, ChartValues, ColumnKind } from './column-values.ts'
import { LABEL_SIZE, measureText } from './font-metrics.ts'
import type { ChartOptions, VegaSpec } from './rendering.ts'

export interface ChartParams extends ChartOptions {
  readonly columns: Readonly<Record<string, ChartColumn>>
  /** Titles by role; null: no title. */
  readonly titles: Readonly<Record<string, string | null>>
  /** Whether names stand beside the chart instead of below it. */
  readonly horizontal?: boolean
}

const VEGA_TYPES: Readonly<Record<ColumnKind, string>> = {
  number: 'quantitative',
  time: 'temporal',
  category: 'nominal',
}

/** The format of a time by its smallest unit that is not zero, in UTC. */
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

/** Makes the channel of an axis or of the colour from a column by its role. Names keep the order of their first use. */
export function createChannel(role: string, read: ChartValues, asked: ChartParams, more: VegaSpec = {}): VegaSpec {
  const kind = read.kinds[role]!
  const own = { number: numberAxis, time: timeAxis, category: categoryAxis }[kind](role, read, asked)
  return { field: role, type: VEGA_TYPES[kind], title: titleOf(role, asked), ...own, ...more }
}

/** The channel for counts of rows, which are integers. */
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

/** Where all values are equal, there is no step that tells the number of decimal places. */
function numberAxis(role: string, { values }: ChartValues): VegaSpec {
  const all = values.map((row) => row[role] as number)
  const [least, most] = [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))]
  const comma = role === 'x' && all.every(isYear) ? '' : ','
  return { axis: { format: least === most ? `${comma}.12~g` : `${comma}f` } }
}

/** Such values on the x axis are written without a comma. */
function isYear(value: number): boolean {
  return Number.isInteger(value) && value >= 1_000 && value < 3_000
}

/** Names below a chart are horizontal where there is room for all, else vertical. Some names that would overlap are left out. */
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
