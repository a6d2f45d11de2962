// Functions that combine many values into one cell, such as sums and means, for groups and pivots.

import { suggestName } from '../../engine/node-api/did-you-mean.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import { getValueKind } from '../../engine/node-api/values/type-conformance.ts'
import { compensatedSum, meanOf, quantileOf, sampleDeviation, sortNumbers } from '../shared/descriptive-statistics.ts'
import { KeyIndex } from '../shared/equality-keys.ts'
import { abbreviate, type StepBudget } from '../shared/value-limits.ts'
import { compareValues } from '../shared/value-operations.ts'

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

/** Combines the non-missing values of a column. `spend` counts comparisons. Throws NodeError. */
type Aggregate = (values: unknown[], column: string, spend: StepBudget) => unknown

function requireNumbers(values: unknown[], column: string): number[] {
  const odd = values.find((value) => typeof value !== 'number')
  if (odd === undefined) return values as number[]
  const advice = typeof odd === 'string' ? ' data.Convert turns texts into numbers.' : ''
  throw new NodeError(
    `Column "${abbreviate(column)}" holds ${getValueKind(odd)}, where numbers are needed.${advice}`,
    'bad_input',
  )
}

/** Null without values, else the result for the numbers. */
function aggregateNumbers(make: (numbers: number[]) => number | null): Aggregate {
  return (values, column) => (values.length === 0 ? null : make(requireNumbers(values, column)))
}

function findExtreme(sign: number): Aggregate {
  return (values, _column, spend) => {
    let found: unknown = values[0] ?? null
    for (const value of values) if (sign * compareValues(value, found, spend) > 0) found = value
    return found
  }
}

function countDistinct(values: unknown[]): number {
  const keys = new KeyIndex(1)
  for (const value of values) keys.add(() => value)
  return keys.count
}

export const AGGREGATES: Readonly<Record<AggregateName, Aggregate>> = {
  sum: (values, column) => compensatedSum(requireNumbers(values, column), `The sum of column "${abbreviate(column)}"`),
  mean: aggregateNumbers(meanOf),
  median: aggregateNumbers((numbers) => quantileOf(sortNumbers(numbers), 0.5)),
  deviation: aggregateNumbers((numbers) => sampleDeviation(numbers)?.deviation ?? null),
  min: findExtreme(-1),
  max: findExtreme(1),
  count: (values) => values.length,
  distinct: countDistinct,
  first: (values) => values[0] ?? null,
  last: (values) => values.at(-1) ?? null,
  list: (values) => values,
}

export const AGGREGATE_NAMES = Object.keys(AGGREGATES) as AggregateName[]

/** @throws NodeError `unknown_aggregate`, with the known names */
export function parseAggregateName(name: unknown): AggregateName {
  if (typeof name === 'string' && Object.hasOwn(AGGREGATES, name)) return name as AggregateName
  const written = typeof name === 'string' ? abbreviate(name) : getValueKind(name)
  const text = `"${written}" is not an aggregate function.${suggestName(written, AGGREGATE_NAMES)}`
  throw new NodeError(`${text} There are ${AGGREGATE_NAMES.join(', ')}.`, 'unknown_aggregate')
}
