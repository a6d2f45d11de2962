// Sorts values by numeric ranks, so that few texts are compared. The caller checks whether the values can be ordered.
import { createStepBudget, isShortKey } from './value-limits.ts'
import { compareValues } from './value-operations.ts'

interface RankedText {
  text: string
  rank: number
}

/** Equal texts have the same rank. Long texts are not looked up, because a map would compare all of the same length. */
function rankTexts(values: readonly unknown[]): (RankedText | null)[] {
  const spend = createStepBudget()
  const known = new Map<string, RankedText>()
  const all: RankedText[] = []
  const ranked = values.map((text) => {
    if (typeof text !== 'string') return null
    const found = isShortKey(text) ? known.get(text) : undefined
    if (found) return found
    const one = { text, rank: 0 }
    all.push(one)
    if (isShortKey(text)) known.set(text, one)
    return one
  })
  all.sort((a, b) => compareValues(a.text, b.text, spend))
  for (const [rank, one] of all.entries()) {
    const before = all[rank - 1]
    one.rank = before && compareValues(before.text, one.text, spend) === 0 ? before.rank : rank
  }
  return ranked
}

/**
 * Ranks of values that are all numbers, all texts, or all booleans. Null comes last. Throws NodeError `too_large` if there is too much to
 * compare.
 */
export function rankValues(values: readonly unknown[], sign: number): Float64Array {
  const texts = rankTexts(values)
  return Float64Array.from(values, (value, place) => {
    if (value === null) return Number.POSITIVE_INFINITY
    return sign * (texts[place]?.rank ?? Number(value))
  })
}

/** The positions in order of their ranks: by the first ranks, then by the next. Equal positions keep their order. */
export function sortByRanks(length: number, ranks: readonly Float64Array[]): Uint32Array {
  const places = Uint32Array.from({ length }, (_, place) => place)
  return places.sort((a, b) => {
    for (const rank of ranks) if (rank[a] !== rank[b]) return rank[a]! < rank[b]! ? -1 : 1
    return a - b
  })
}
