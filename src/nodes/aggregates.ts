// What becomes of many values in one cell: sums, means and so on, for groups and pivots.
import { NodeError } from '../engine/node-type.ts'
import { hint } from '../engine/suggest.ts'
import { kindOf } from '../engine/values.ts'
import { Keys } from './keys.ts'
import { type Spend, shown } from './limits.ts'
import { meanOf, quantileOf, sorted, spreadOf, sumOf } from './sums.ts'
import { compareValues } from './values.ts'

export type AggregateName =
  | 'sum'
  | 'mean'
  | 'median'
  | 'deviation'
  | 'min'
  | 'max'
  | 'count'
  | 'distinct'
  | 'first'
  | 'last'
  | 'list'

/** Makes one value out of those of a column that are not missing. `spend` counts what is compared. Throws NodeError. */
type Aggregate = (values: unknown[], column: string, spend: Spend) => unknown

function numbers(values: unknown[], column: string): number[] {
  const odd = values.find((value) => typeof value !== 'number')
  if (odd === undefined) return values as number[]
  const advice = typeof odd === 'string' ? ' data.Convert makes numbers of texts.' : ''
  throw new NodeError(`Column "${shown(column)}" holds ${kindOf(odd)}, where numbers are needed.${advice}`, 'bad_input')
}

/** Null where there is nothing, else what is made of the numbers. */
function ofNumbers(make: (numbers: number[]) => number | null): Aggregate {
  return (values, column) => (values.length === 0 ? null : make(numbers(values, column)))
}

function extreme(sign: number): Aggregate {
  return (values, _column, spend) => {
    let found: unknown = values[0] ?? null
    for (const value of values) if (sign * compareValues(value, found, spend) > 0) found = value
    return found
  }
}

function distinct(values: unknown[]): number {
  const keys = new Keys(1)
  for (const value of values) keys.add(() => value)
  return keys.count
}

export const AGGREGATES: Readonly<Record<AggregateName, Aggregate>> = {
  sum: (values, column) => sumOf(numbers(values, column), `The sum of column "${shown(column)}"`),
  mean: ofNumbers(meanOf),
  median: ofNumbers((numbers) => quantileOf(sorted(numbers), 0.5)),
  deviation: ofNumbers((numbers) => spreadOf(numbers)?.deviation ?? null),
  min: extreme(-1),
  max: extreme(1),
  count: (values) => values.length,
  distinct,
  first: (values) => values[0] ?? null,
  last: (values) => values.at(-1) ?? null,
  list: (values) => values,
}

export const AGGREGATE_NAMES = Object.keys(AGGREGATES) as AggregateName[]

/** Throws NodeError `unknown_aggregate`, with those that there are. */
export function aggregateName(name: unknown): AggregateName {
  if (typeof name === 'string' && Object.hasOwn(AGGREGATES, name)) return name as AggregateName
  const written = typeof name === 'string' ? shown(name) : kindOf(name)
  const text = `"${written}" is no way to sum up a column.${hint(written, AGGREGATE_NAMES)}`
  throw new NodeError(`${text} There are ${AGGREGATE_NAMES.join(', ')}.`, 'unknown_aggregate')
}
