// The order of texts, and sorting of long lists in steps.
import type { Steps } from './time-slices.ts'

/** The number of items that are sorted at once. */
const AT_ONCE = 4_096

/** Compares by code units, as `sort()` does on every system. */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** Sorts as `items.sort(compare)` does. */
export function* sortSteps<T>(items: T[], compare: (a: T, b: T) => number): Steps<T[]> {
  if (items.length <= AT_ONCE) return items.sort(compare)
  const middle = items.length >> 1
  const low = yield* sortSteps(items.slice(0, middle), compare)
  yield
  const high = yield* sortSteps(items.slice(middle), compare)
  const sorted: T[] = []
  for (let [i, j] = [0, 0]; i < low.length || j < high.length; ) {
    if (j >= high.length || (i < low.length && compare(low[i]!, high[j]!) <= 0)) sorted.push(low[i++]!)
    else sorted.push(high[j++]!)
    if (sorted.length % AT_ONCE === 0) yield
  }
  return sorted
}
