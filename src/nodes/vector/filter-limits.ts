// How large a filter of metadata may be. It is asked before anything is paid for, and again by whoever keeps vectors.

import { NodeError } from '../../engine/node-api/node-error.ts'
import { isLongerAsJson } from '../../engine/node-api/values/measure.ts'

/** Of all keys together, and the keys. */
const MOST_VALUES = 10_000
/** In characters of JSON. */
const LARGEST_FILTER = 1_000_000

/** What is wrong with a filter, or null. */
export function findFilterProblem(filter: unknown): string | null {
  const wanted = Object.values((filter ?? {}) as object)
  const count = wanted.reduce((sum, value) => sum + (Array.isArray(value) ? value.length : 1), wanted.length)
  if (count > MOST_VALUES) return tooLargeMessage(MOST_VALUES, 'keys and values')
  return isLongerAsJson(filter, LARGEST_FILTER) ? tooLargeMessage(LARGEST_FILTER, 'characters') : null
}

function tooLargeMessage(most: number, what: string): string {
  return `The filter has more than ${most.toLocaleString('en')} ${what}.`
}

/** @throws NodeError `too_large` */
export function guardVectorFilter(filter: unknown): void {
  const problem = findFilterProblem(filter)
  if (problem !== null) throw new NodeError(problem, 'too_large')
}
