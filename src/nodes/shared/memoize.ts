// Caches results by texts: a stream evaluates the same formula for each of its items.

/** In cached texts. */
const MOST_REMEMBERED = 200
/** In characters. */
const LONGEST_REMEMBERED = 500

const isShort = (text: string) => text.length <= LONGEST_REMEMBERED

/**
 * The cache is common to all users. `isCheap` says of which texts the results may stay in it: they take little memory, and less time to make than
 * requests vary by, since time would tell whether another user has the same text. Of other results the last one alone is remembered, for the items
 * of a stream.
 */
export function memoizeByText<Made>(make: (text: string) => Made, isCheap = isShort): (text: string) => Made {
  const known = new Map<string, Made>()
  let lastCostly: { readonly text: string; readonly made: Made } | null = null
  return (text) => {
    if (text === lastCostly?.text) return lastCostly.made
    const found = known.get(text)
    if (found !== undefined) return found
    const made = make(text)
    if (!isCheap(text)) {
      lastCostly = { text, made }
      return made
    }
    if (known.size >= MOST_REMEMBERED) known.delete(known.keys().next().value!)
    known.set(text, made)
    return made
  }
}
