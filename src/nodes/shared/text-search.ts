// Looks for one text in another, in time that grows with their lengths and not with the product of them, whatever the
// two hold. Where matches are counted, cut at and replaced is in text-parts.ts.

/** In characters. The built-in search compares all of a text's beginning at each place at worst, so only so much of it. */
const LONGEST_HEAD = 16

/** Of each beginning of a text: how long the longest shorter beginning is that it ends with (Knuth, Morris and Pratt). */
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

/** Where a text is in another first, from a place on; −1 where it isn't. The same as `indexOf`. */
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
