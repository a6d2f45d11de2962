// Caches results by texts: a stream evaluates the same formula for each of its items.

/** In cached texts. */
const MOST_REMEMBERED = 200
/**
 * The cache is common to all users. What is made of a longer text takes so long that the time would tell whether another user has the same text. Of
 * longer texts only the last one is remembered, for the items of a stream. In characters.
 */
const LONGEST_REMEMBERED = 500

export function memoizeByText<Made>(make: (text: string) => Made): (text: string) => Made {
  const known = new Map<string, Made>()
  let lastLong: { readonly text: string; readonly made: Made } | null = null
  return (text) => {
    if (text === lastLong?.text) return lastLong.made
    const found = known.get(text)
    if (found !== undefined) return found
    const made = make(text)
    if (text.length > LONGEST_REMEMBERED) {
      lastLong = { text, made }
      return made
    }
    if (known.size >= MOST_REMEMBERED) known.delete(known.keys().next().value!)
    known.set(text, made)
    return made
  }
}
