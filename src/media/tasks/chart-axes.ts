// The sides of a chart and its legend: which column each shows, and what is written beside it so that all of it fits into the picture.
import type { Column, Kind, Read } from './chart-data.ts'
import type { Drawing, Look } from './chart-draw.ts'
import { LABEL_SIZE, widthOf } from './chart-letters.ts'
import { cleaned } from './image-text.ts'

export interface Asked extends Look {
  readonly columns: Readonly<Record<string, Column>>
  /** Titles by role; of those that are null, none is drawn. */
  readonly titles: Readonly<Record<string, string | null>>
  /** Whether names stand beside the chart and not below it. */
  readonly horizontal?: boolean
}

const TYPES: Readonly<Record<Kind, string>> = { number: 'quantitative', time: 'temporal', category: 'nominal' }

/** A moment by its smallest part that is not zero, in UTC. */
const MOMENTS = {
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
export function channel(role: string, read: Read, asked: Asked, more: Drawing = {}): Drawing {
  const kind = read.kinds[role]!
  const own = { number: numbers, time: moments, category: names }[kind](role, read, asked)
  return { field: role, type: TYPES[kind], title: titleOf(role, asked), ...own, ...more }
}

/** Rows that are counted: no part of one. */
export function counts(asked: Asked): Drawing {
  return {
    aggregate: 'count',
    type: 'quantitative',
    title: titleOf('y', asked),
    axis: { format: ',d', tickMinStep: 1 },
  }
}

function titleOf(role: string, { titles }: Asked): string | null {
  return cleaned(titles[role] ?? '') || null
}

function moments(): Drawing {
  return { scale: { type: 'utc' }, axis: { format: MOMENTS } }
}

/** Where all are the same, no step says how many places they have. */
function numbers(role: string, { values }: Read): Drawing {
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
function names(role: string, { values, kinds }: Read, { width, height, horizontal }: Asked): Drawing {
  if (role === 'colour') return { sort: null }
  const all = new Set(values.map((row) => cleaned(String(row[role]))))
  const longest = [...all].reduce((most, name) => Math.max(most, widthOf(name, LABEL_SIZE, false)), 0)
  const level = (longest + LABEL_SIZE) * all.size < width * 0.8
  const below = level ? { labelAngle: 0, labelLimit: width } : { labelLimit: height * 0.4 }
  const way = horizontal ? { labelLimit: width * (kinds.colour ? 0.25 : 0.4) } : below
  return { sort: null, axis: { labelOverlap: 'greedy', ...way } }
}
