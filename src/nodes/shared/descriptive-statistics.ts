// Sums, deviations and quantiles of numbers, without the rounding errors of naive addition.
import { NodeError } from '../../engine/node-api/node-error.ts'
import { requireFinite } from './value-operations.ts'

/** The sum with compensation of rounding errors (Neumaier 1974). Throws NodeError `not_finite`. */
export function compensatedSum(numbers: ArrayLike<number>, what = 'The sum'): number {
  let sum = 0
  let lost = 0
  for (let index = 0; index < numbers.length; index++) {
    const number = numbers[index]!
    const next = sum + number
    lost += Math.abs(sum) >= Math.abs(number) ? sum - next + number : number - next + sum
    sum = next
  }
  // After an overflow the compensation is not a number.
  return requireFinite(Number.isFinite(sum) ? sum + lost : sum, what)
}

/** The mean of at least one number. */
export function meanOf(numbers: ArrayLike<number>): number {
  return compensatedSum(numbers) / numbers.length
}

/** Distances of numbers from their mean, in units of a power of two that keeps their products from overflowing. */
export interface CentredNumbers {
  mean: number
  unit: number
  parts: Float64Array
}

/** Maps numbers to floats. A loop over typed arrays is ten times faster than their own methods. */
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
  // The mean is rounded, so the mean of the distances is subtracted from each (Chan 1983).
  const off = meanOf(scaled)
  return { mean: mean + off * unit, unit, parts: mapToFloats(scaled, (part) => part - off) }
}

/** The dot product of two lists. */
export function dotProduct(a: Float64Array, b: Float64Array): number {
  return compensatedSum(mapToFloats(a, (one, index) => one * b[index]!))
}

/** The standard deviation of a sample (n − 1) and the variance, which may overflow; null for fewer than two numbers. */
export function sampleDeviation(numbers: ArrayLike<number>): { deviation: number; variance: number } | null {
  if (numbers.length < 2) return null
  const { unit, parts } = centreNumbers(numbers)
  const share = dotProduct(parts, parts) / (numbers.length - 1)
  return { deviation: Math.sqrt(share) * unit, variance: share * unit * unit }
}

/** Sorts numbers by size, several times faster than an array does. */
export function sortNumbers(numbers: ArrayLike<number>): Float64Array {
  return mapToFloats(numbers, (number) => number).sort()
}

/** The quantile of sorted numbers, interpolated (Hyndman and Fan 1996, type 7). The list must not be empty. */
export function quantileOf(sorted: Float64Array, share: number): number {
  const place = (sorted.length - 1) * share
  const weight = place - Math.floor(place)
  const low = sorted[Math.floor(place)]!
  return weight === 0 ? low : low * (1 - weight) + sorted[Math.ceil(place)]! * weight
}

/** Throws NodeError if two lists differ in length, or are too short. */
export function guardNumberPairs(x: readonly number[], y: readonly number[], least: number): void {
  if (x.length !== y.length) {
    throw new NodeError(`x has ${x.length} numbers and y has ${y.length}. Both need the same number.`, 'bad_input')
  }
  if (x.length >= least) return
  throw new NodeError(`At least ${least} pairs of numbers are needed, but there are ${x.length}.`, 'bad_input')
}
