// Statistics of numbers: list.Statistics, and math.* of samples and pairs. Exact sums are in shared/descriptive-statistics.ts.
import { NodeError } from '../engine/node-api/node-error.ts'
import type { NodeType } from '../engine/node-api/node-type.ts'
import { createEnumType } from '../engine/node-api/values/type-metadata.ts'
import {
  type CentredNumbers,
  centreNumbers,
  compensatedSum,
  dotProduct,
  guardNumberPairs,
  meanOf,
  quantileOf,
  sampleDeviation,
  sortNumbers,
} from './shared/descriptive-statistics.ts'
import { optionalProperty, requiredProperty, valueOutput } from './shared/node-type-builders.ts'

const numbersProperty = (name = 'list') => requiredProperty(name, 'list[float]', 'The numbers.')

function summarizeNumbers(list: number[]) {
  const sum = compensatedSum(list)
  if (list.length === 0) return { sum, count: 0 }
  const inOrder = sortNumbers(list)
  const [min, max] = [inOrder[0]!, inOrder.at(-1)!]
  const known = { sum, count: list.length, mean: meanOf(list), min, max, median: quantileOf(inOrder, 0.5) }
  const spread = sampleDeviation(list)
  if (!spread) return known
  // For very large numbers the variance overflows.
  const { deviation, variance } = spread
  return Number.isFinite(variance) ? { ...known, variance, deviation } : { ...known, deviation }
}

/** The rank of each number, from 1. Equal numbers share the mean of their ranks. */
function averageRanks(list: readonly number[]): number[] {
  const places = list.map((_, index) => index).sort((a, b) => list[a]! - list[b]!)
  const ranked = new Array<number>(list.length)
  for (let from = 0; from < places.length; ) {
    let to = from
    while (to < places.length && list[places[to]!] === list[places[from]!]) to++
    for (let at = from; at < to; at++) ranked[places[at]!] = (from + 1 + to) / 2
    from = to
  }
  return ranked
}

/** Distances from the mean. Throws NodeError if all are zero. */
function requireVariation(list: readonly number[], name: string): CentredNumbers {
  const made = centreNumbers(list)
  if (made.parts.some((part) => part !== 0)) return made
  throw new NodeError(`All numbers of ${name} are the same, so they have no variation.`, 'bad_input')
}

function computeCorrelation(x: number[], y: number[], method: string): number {
  guardNumberPairs(x, y, 2)
  const of = (list: number[], name: string) =>
    requireVariation(method === 'spearman' ? averageRanks(list) : list, name).parts
  const [a, b] = [of(x, 'x'), of(y, 'y')]
  const r = dotProduct(a, b) / Math.sqrt(dotProduct(a, a) * dotProduct(b, b))
  return Math.min(1, Math.max(-1, r))
}

function fitLine(x: number[], y: number[]) {
  guardNumberPairs(x, y, 2)
  const a = requireVariation(x, 'x')
  const b = centreNumbers(y)
  const both = dotProduct(a.parts, b.parts)
  const [ofX, ofY] = [dotProduct(a.parts, a.parts), dotProduct(b.parts, b.parts)]
  const slope = (both / ofX) * (b.unit / a.unit)
  // A horizontal line explains constant values completely.
  return { slope, intercept: b.mean - slope * a.mean, r_squared: ofY === 0 ? 1 : Math.min(1, both ** 2 / (ofX * ofY)) }
}

interface HistogramInputs {
  list: number[]
  bins: number
  min: number | null
  max: number | null
}

/** The position of the bin that contains a number, by the edges themselves. The last edge belongs to the last bin. */
function findBin(edges: readonly number[], number: number): number {
  let [low, high] = [0, edges.length - 1]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (number >= edges[middle]!) low = middle
    else high = middle
  }
  return low
}

function computeHistogram({ list, bins, min, max }: HistogramInputs) {
  const least = min ?? list.reduce((one, other) => Math.min(one, other), max ?? Number.POSITIVE_INFINITY)
  const most = max ?? list.reduce((one, other) => Math.max(one, other), min ?? Number.NEGATIVE_INFINITY)
  if (least > most && (min !== null || max !== null)) {
    throw new NodeError(`The least number, ${least}, is greater than the greatest, ${most}.`, 'bad_input')
  }
  if (least > most) return { output: [], outside: 0 }
  // If all numbers are equal, the bins get some width around them.
  const room = least === most ? Math.max(0.5, Math.abs(least) * 1e-9) : 0
  const [from, to] = [least - room, most + room]
  const edges = Array.from({ length: bins + 1 }, (_, at) => from * (1 - at / bins) + to * (at / bins))
  const counts = new Array<number>(bins).fill(0)
  const inside = list.filter((number) => number >= from && number <= to)
  for (const number of inside) counts[findBin(edges, number)]!++
  const made = counts.map((count, at) => ({ from: edges[at]!, to: edges[at + 1]!, count }))
  return { output: made, outside: list.length - inside.length }
}

export const statisticsNodes: NodeType[] = [
  {
    node_type: 'list.Statistics',
    title: 'Statistics of numbers',
    description:
      'Computes statistics of a list of numbers. An empty list has only a sum and a count. Variance and deviation are those of a sample (n − 1) and need two numbers.',
    properties: [numbersProperty()],
    outputs: [
      valueOutput('sum', 'float'),
      valueOutput('count', 'int'),
      ...['mean', 'min', 'max', 'median', 'variance', 'deviation'].map((name) => valueOutput(name, 'float')),
    ],
    run: ({ list }: { list: number[] }) => summarizeNumbers(list),
  },
  {
    node_type: 'math.Quantile',
    title: 'Quantile',
    description:
      'Gives the number below which a share of a list lies, interpolated between two numbers. An empty list gives no output.',
    properties: [
      numbersProperty(),
      optionalProperty('q', 'float', 'The share; 0.5 is the median.', { default: 0.5, min: 0, max: 1 }),
    ],
    outputs: [valueOutput('output', 'float')],
    run: ({ list, q }: { list: number[]; q: number }) =>
      list.length === 0 ? {} : { output: quantileOf(sortNumbers(list), q) },
  },
  {
    node_type: 'math.Correlation',
    title: 'Correlation',
    description:
      'Measures how far two lists of numbers rise and fall together: 1 for always, −1 for always in opposite directions.',
    properties: [
      numbersProperty('x'),
      numbersProperty('y'),
      optionalProperty(
        'method',
        createEnumType('pearson', 'spearman'),
        'By the numbers themselves (pearson), or by their ranks (spearman).',
        {
          default: 'pearson',
        },
      ),
    ],
    outputs: [valueOutput('output', 'float')],
    run: ({ x, y, method }: { x: number[]; y: number[]; method: string }) => ({
      output: computeCorrelation(x, y, method),
    }),
  },
  {
    node_type: 'math.LinearRegression',
    title: 'Linear regression',
    description: 'Finds the line y = slope · x + intercept that lies nearest to all points, by least squares.',
    properties: [numbersProperty('x'), numbersProperty('y')],
    outputs: ['slope', 'intercept', 'r_squared'].map((name) => valueOutput(name, 'float')),
    run: ({ x, y }: { x: number[]; y: number[] }) => fitLine(x, y),
  },
  {
    node_type: 'math.Histogram',
    title: 'Histogram',
    description:
      'Counts numbers by bins of the same width: {from, to, count}. A bin includes its lower edge; the last bin includes its upper edge too.',
    properties: [
      numbersProperty(),
      optionalProperty('bins', 'int', 'How many bins.', { default: 10, min: 1, max: 10_000 }),
      optionalProperty('min', 'float?', 'The start of the first bin. Without it: the least number.'),
      optionalProperty('max', 'float?', 'The end of the last bin. Without it: the greatest number.'),
    ],
    outputs: [valueOutput('output', 'list[dict[str,float]]'), valueOutput('outside', 'int')],
    run: (inputs) => computeHistogram(inputs as unknown as HistogramInputs),
  },
]
