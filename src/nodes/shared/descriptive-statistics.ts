// Sums, spreads and quantiles of numbers, without the loss that adding one after the other brings.
import { NodeError } from '../../engine/node-api/node-type.ts'
import { requireFinite } from './value-operations.ts'

/** The sum, with what each step lost added at the end (Neumaier 1974). Throws NodeError `not_finite`. */
export function compensatedSum(numbers: ArrayLike<number>, what = 'The sum'): number {
  let sum = 0
  let lost = 0
  for (let index = 0; index < numbers.length; index++) {
    const number = numbers[index]!
    const next = sum + number
    lost += Math.abs(sum) >= Math.abs(number) ? sum - next + number : number - next + sum
    sum = next
  }
  // Past the greatest number, what was lost is not a number any more.
  return requireFinite(Number.isFinite(sum) ? sum + lost : sum, what)
}

/** The mean of numbers, of which there is one at least. */
export function meanOf(numbers: ArrayLike<number>): number {
  return compensatedSum(numbers) / numbers.length
}

/** Numbers as their distances from the mean, in units of a power of two that lets none of their products overflow. */
export interface CentredNumbers {
  mean: number
  unit: number
  parts: Float64Array
}

/** What each number becomes. A loop over typed arrays is ten times faster than their own methods. */
function mapToFloats(numbers: ArrayLike<number>, of: (number: number, index: number) => number): Float64Array {
  const made = new Float64Array(numbers.length)
  for (let index = 0; index < made.length; index++) made[index] = of(numbers[index]!, index)
  return made
}

export function centreNumbers(numbers: ArrayLike<number>): CentredNumbers {
  const mean = meanOf(numbers)
  const distances = mapToFloats(numbers, (number) => number - mean)
  let widest = 0
  for (let index = 0; index < distances.length; index++) widest = Math.max(widest, Math.abs(distances[index]!))
  requireFinite(widest, 'The range of the numbers')
  const unit = widest === 0 ? 1 : 2 ** Math.max(-1000, Math.floor(Math.log2(widest)))
  const scaled = mapToFloats(distances, (distance) => distance / unit)
  // The mean is rounded: what the distances come to together is taken out of each (Chan 1983).
  const off = meanOf(scaled)
  return { mean: mean + off * unit, unit, parts: mapToFloats(scaled, (part) => part - off) }
}

/** The sum of what two lists come to multiplied item by item. */
export function dotProduct(a: Float64Array, b: Float64Array): number {
  return compensatedSum(mapToFloats(a, (one, index) => one * b[index]!))
}

/** The standard deviation of a sample (n − 1), and its square where that is not too great; null for fewer than two numbers. */
export function sampleDeviation(numbers: ArrayLike<number>): { deviation: number; variance: number } | null {
  if (numbers.length < 2) return null
  const { unit, parts } = centreNumbers(numbers)
  const share = dotProduct(parts, parts) / (numbers.length - 1)
  return { deviation: Math.sqrt(share) * unit, variance: share * unit * unit }
}

/** Typed arrays sort numbers by size, and several times faster. */
export function sortNumbers(numbers: ArrayLike<number>): Float64Array {
  return mapToFloats(numbers, (number) => number).sort()
}

/** What lies at a share of sorted numbers, in between where it meets none (Hyndman and Fan 1996, type 7). Not for none. */
export function quantileOf(sorted: Float64Array, share: number): number {
  const place = (sorted.length - 1) * share
  const weight = place - Math.floor(place)
  const low = sorted[Math.floor(place)]!
  return weight === 0 ? low : low * (1 - weight) + sorted[Math.ceil(place)]! * weight
}

/** Throws NodeError where two lists don't pair, or are too short for what is asked. */
export function guardNumberPairs(x: readonly number[], y: readonly number[], least: number): void {
  if (x.length !== y.length) {
    throw new NodeError(`There are ${x.length} numbers in x for ${y.length} in y.`, 'bad_input')
  }
  if (x.length >= least) return
  throw new NodeError(`It takes ${least} pairs of numbers at least, and there are ${x.length}.`, 'bad_input')
}
