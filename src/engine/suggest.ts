// "Did you mean …?" for names of node types and handles.

/** Edits (insert, delete, replace, swap of neighbours) between two words, or `limit + 1` as soon as it is more. */
function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1
  let before: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const current = [i]
    let least = i
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min(previous[j]! + 1, current[j - 1]! + 1, previous[j - 1]! + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, before[j - 2]! + 1)
      current.push(cost)
      least = Math.min(least, cost)
    }
    if (least > limit) return limit + 1
    before = previous
    previous = current
  }
  return previous[b.length]!
}

/** Names longer than this are nobody's typing mistake, and would be slow to compare. */
const LONGEST = 80

/** Among more candidates than these nobody looks for the nearest: it would be slow. */
const MOST_CANDIDATES = 200

/** The candidate that is nearest to what was written, or null where none is near. */
export function nearest(written: string, candidates: Iterable<string>): string | null {
  if (written.length === 0 || written.length > LONGEST) return null
  const word = written.toLowerCase()
  let best: string | null = null
  let least = Math.max(1, Math.floor(word.length / 3)) + 1
  for (const candidate of candidates) {
    const other = candidate.toLowerCase()
    const cost = other === word || other.endsWith(`.${word}`) ? 0 : distance(word, other, least - 1)
    if (cost < least) {
      best = candidate
      least = cost
    }
  }
  return best
}

/** ` Did you mean "x"?`, or the names there are where they are few, or nothing. */
export function hint(written: string, candidates: Iterable<string>): string {
  const names: string[] = []
  for (const name of candidates) {
    if (names.length === MOST_CANDIDATES) return ''
    names.push(name)
  }
  const near = nearest(written, names)
  if (near !== null) return ` Did you mean "${near}"?`
  return names.length > 0 && names.length <= 8 ? ` There is ${names.map((name) => `"${name}"`).join(', ')}.` : ''
}

/** Hints for one graph: so many names are looked up at most, as a hostile graph shall not cost seconds. */
export class Hints {
  #left = 20

  for(written: string, candidates: Iterable<string>): string {
    return this.#left-- > 0 ? hint(written, candidates) : ''
  }
}
