// Splits long texts into pieces of limited length: between paragraphs, lines, sentences or words, else anywhere.

/** Boundaries at which a piece may end, the best first. */
const CHUNK_BOUNDARIES: readonly RegExp[] = [/\n\s*\n/g, /\n/g, /[.!?…。！？]["'”’)]?\s/g, /\s/g]

/** The non-empty pieces in order, without white space at their ends. The search stops after more than `enough` pieces. */
export function chunkAtBoundaries(text: string, most: number, enough = Number.POSITIVE_INFINITY): string[] {
  const pieces: string[] = []
  for (let from = 0; from < text.length && pieces.length <= enough; ) {
    const to = text.length - from <= most ? text.length : from + findChunkEnd(text.slice(from, from + most))
    const piece = text.slice(from, to).trim()
    if (piece !== '') pieces.push(piece)
    from = to
  }
  return pieces
}

/** The last boundary of the best kind in the second half of a text. */
export function findChunkEnd(text: string): number {
  const half = text.length / 2
  for (const cut of CHUNK_BOUNDARIES) {
    let last = 0
    for (const match of text.matchAll(cut)) last = match.index + match[0].length
    if (last > half) return last
  }
  // A surrogate pair is not split.
  const code = text.charCodeAt(text.length - 1)
  return code >= 0xd800 && code < 0xdc00 && text.length > 1 ? text.length - 1 : text.length
}
