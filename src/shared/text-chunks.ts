// Splits long texts into pieces.

/** Splits `text` into pieces of about `length` characters (at least 2). No character is cut in two, so each piece can be encoded by itself. */
export function chunkText(text: string, length: number): string[] {
  const pieces: string[] = []
  for (let from = 0; from < text.length; ) {
    const to = avoidSplittingPair(text, from + length)
    pieces.push(text.slice(from, to))
    from = to
  }
  return pieces
}

/** `at`, or one less if a surrogate pair lies across it. */
function avoidSplittingPair(text: string, at: number): number {
  const before = text.charCodeAt(at - 1)
  return at < text.length && before >= 0xd800 && before <= 0xdbff ? at - 1 : at
}
