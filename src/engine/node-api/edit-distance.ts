// How far apart two words are, for suggestions.

/**
 * The edit distance (insert, delete, replace, swap of neighbours) between two words, or `limit + 1` if it is larger. Only prefixes whose
 * lengths differ by at most `limit` are compared: all others are too far apart.
 */
export function computeEditDistance(a: string, b: string, limit: number): number {
  const tooFar = limit + 1
  if (Math.abs(a.length - b.length) > limit) return tooFar
  let before: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  let current: number[] = new Array(b.length + 1).fill(tooFar)
  for (let i = 1; i <= a.length; i++) {
    const letter = a.charCodeAt(i - 1)
    const from = Math.max(1, i - limit)
    const to = Math.min(b.length, i + limit)
    let least = from === 1 ? i : tooFar
    current[from - 1] = least
    for (let j = from; j <= to; j++) {
      const other = b.charCodeAt(j - 1)
      let cost = Math.min(previous[j]! + 1, current[j - 1]! + 1, previous[j - 1]! + (letter === other ? 0 : 1))
      const isSwapped = i > 1 && j > 1 && letter === b.charCodeAt(j - 2) && a.charCodeAt(i - 2) === other
      if (isSwapped) cost = Math.min(cost, before[j - 2]! + 1)
      current[j] = cost
      least = Math.min(least, cost)
    }
    if (least > limit) return tooFar
    // The next row reads one more column.
    if (to < b.length) current[to + 1] = tooFar
    const spare = i > 1 ? before : new Array<number>(b.length + 1).fill(tooFar)
    before = previous
    previous = current
    current = spare
  }
  return previous[b.length]!
}
