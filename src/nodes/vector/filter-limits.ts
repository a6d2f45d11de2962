// Limits of metadata filters. They are checked before paid calls, and again by the vector store.

import { NodeError } from '../../engine/node-api/node-error.ts'
import { isLongerAsJson } from '../../engine/node-api/values/json-length.ts'

/** In keys and values together. */
const MOST_VALUES = 10_000
/** In characters of JSON. */
const LARGEST_FILTER = 1_000_000

/** The problem with a filter, or null. */
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
