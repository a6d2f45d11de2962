// Caches results by text: a stream evaluates the same formula for each of its items.

/** In cached texts. */
const MOST_REMEMBERED = 200

export function memoizeByText<Made>(make: (text: string) => Made): (text: string) => Made {
  const known = new Map<string, Made>()
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    const made = make(text)
    if (known.size >= MOST_REMEMBERED) known.delete(known.keys().next().value!)
    known.set(text, made)
    return made
  }
}
