// How large a filter of metadata may be. It is asked before anything is paid for, and again by whoever keeps vectors.
import { isLongerAsJson } from '../engine/measure.ts'
import { NodeError } from '../engine/node-error.ts'

/** Of all keys together, and the keys. */
const MOST_VALUES = 10_000
/** In characters of JSON. */
const LARGEST_FILTER = 1_000_000

/** What is wrong with a filter, or null. */
export function filterProblem(filter: unknown): string | null {
  const wanted = Object.values((filter ?? {}) as object)
  const count = wanted.reduce((sum, value) => sum + (Array.isArray(value) ? value.length : 1), wanted.length)
  if (count > MOST_VALUES) return more(MOST_VALUES, 'keys and values')
  return isLongerAsJson(filter, LARGEST_FILTER) ? more(LARGEST_FILTER, 'characters') : null
}

function more(most: number, what: string): string {
  return `The filter has more than ${most.toLocaleString('en')} ${what}.`
}

/** @throws NodeError `too_large` */
export function guardFilter(filter: unknown): void {
  const problem = filterProblem(filter)
  if (problem !== null) throw new NodeError(problem, 'too_large')
}
