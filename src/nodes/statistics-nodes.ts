// Statistics of numbers: list.Statistics, and math.* of samples and pairs. How sums are kept exact is in sums.ts.
import { NodeError, type NodeType } from '../engine/node-api/node-type.ts'
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
  // Where numbers are very great, their variance is none.
  const { deviation, variance } = spread
  return Number.isFinite(variance) ? { ...known, variance, deviation } : { ...known, deviation }
}

/** The place of each number in order, from 1; equal ones share the mean of theirs. */
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

/** Distances from the mean. Throws NodeError where all are zero. */
function requireVariation(list: readonly number[], name: string): CentredNumbers {
  const made = centreNumbers(list)
  if (made.parts.some((part) => part !== 0)) return made
  throw new NodeError(`All numbers of ${name} are the same: nothing can be said of how they vary.`, 'bad_input')
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
  // A level line explains all of what doesn't vary.
  return { slope, intercept: b.mean - slope * a.mean, r_squared: ofY === 0 ? 1 : Math.min(1, both ** 2 / (ofX * ofY)) }
}

interface HistogramInputs {
  list: number[]
  bins: number
  min: number | null
  max: number | null
}

/** The place of the bin that a number lies in, by the edges themselves; the last edge belongs to the last bin. */
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
    throw new NodeError(`The least number, ${least}, is above the greatest, ${most}.`, 'bad_input')
  }
  if (least > most) return { output: [], outside: 0 }
  // All the same: bins with some room around it.
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
      'Sums up a list of numbers. An empty list has but a sum and a count; variance and deviation are those of a sample (n − 1) and need two numbers.',
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
      'Gives the number below which a share of a list lies, in between where it meets none. Nothing for an empty list.',
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
    description: 'Says how far two lists of numbers go together: 1 for always, −1 for always against each other.',
    properties: [
      numbersProperty('x'),
      numbersProperty('y'),
      optionalProperty(
        'method',
        createEnumType('pearson', 'spearman'),
        'By the numbers themselves, or by their places in order.',
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
      'Counts numbers by bins of the same width: {from, to, count}. A bin includes its lower edge, the last one its upper edge as well.',
    properties: [
      numbersProperty(),
      optionalProperty('bins', 'int', 'How many bins.', { default: 10, min: 1, max: 10_000 }),
      optionalProperty('min', 'float?', 'Where the first bin begins; without it the least number.'),
      optionalProperty('max', 'float?', 'Where the last bin ends; without it the greatest number.'),
    ],
    outputs: [valueOutput('output', 'list[dict[str,float]]'), valueOutput('outside', 'int')],
    run: (inputs) => computeHistogram(inputs as unknown as HistogramInputs),
  },
]
