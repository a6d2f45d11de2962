// Searches for a text in another in linear time, whatever the texts are. text/string-functions.ts counts, splits and replaces matches.

/** In characters. In the worst case the built-in search compares the whole searched text at each position, so it gets only this much. */
const LONGEST_HEAD = 16

/** For each prefix of a text: the length of its longest border (Knuth, Morris and Pratt). */
function computeBorders(part: string): Int32Array {
  const found = new Int32Array(part.length)
  let length = 0
  for (let at = 1; at < part.length; at++) {
    const unit = part.charCodeAt(at)
    while (length > 0 && unit !== part.charCodeAt(length)) length = found[length - 1]!
    if (unit === part.charCodeAt(length)) length++
    found[at] = length
  }
  return found
}

/** The first position of a text in another, from a position on, or −1. Equivalent to `indexOf`. */
export function findText(text: string, part: string, from = 0): number {
  if (part.length <= LONGEST_HEAD) return text.indexOf(part, from)
  if (part.length > text.length - from) return -1
  const head = part.slice(0, LONGEST_HEAD)
  let at = text.indexOf(head, from)
  if (at < 0) return -1
  const shorter = computeBorders(part)
  let met = 0
  while (at < text.length) {
    if (met === 0) {
      at = text.indexOf(head, at)
      if (at < 0) return -1
      met = LONGEST_HEAD
      at += LONGEST_HEAD
    } else if (text.charCodeAt(at) === part.charCodeAt(met)) {
      at++
      if (++met === part.length) return at - met
    } else met = shorter[met - 1]!
  }
  return -1
}
