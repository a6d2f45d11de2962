// Long texts in pieces, so that what waits for one slow reader is one piece and not a copy of the whole.

/** Characters that are encoded at once without holding up others. */
export const ENCODED_AT_ONCE = 262_144

/** `text` in pieces of about `length` characters, which is at least 2. No character is cut in two: pieces are encoded one by one. */
export function cuts(text: string, length: number): string[] {
  const pieces: string[] = []
  for (let from = 0; from < text.length; ) {
    const to = beforePair(text, from + length)
    pieces.push(text.slice(from, to))
    from = to
  }
  return pieces
}

/** A text that comes in parts, in parts of at least `length` characters, but for the last one. */
export async function* gathered(parts: AsyncIterable<string>, length: number): AsyncGenerator<string, void, void> {
  let text = ''
  for await (const part of parts) {
    text += part
    if (text.length < length) continue
    yield text
    text = ''
  }
  if (text !== '') yield text
}

/**
 * A text of which the first part is there: what fails before that is an answer of its own. No generator: one that is ended before its first part is
 * asked for would leave the text open.
 */
export async function begun(
  text: AsyncGenerator<string, void, void>,
): Promise<AsyncIterableIterator<string, void, void>> {
  let first: IteratorResult<string, void> | null = await text.next()
  const parts: AsyncIterableIterator<string, void, void> = {
    async next() {
      const part = first ?? (await text.next())
      first = null
      return part
    },
    return: () => text.return(),
    [Symbol.asyncIterator]: () => parts,
  }
  return parts
}

/** `at`, or one less where a pair of surrogates lies across it. */
function beforePair(text: string, at: number): number {
  const before = text.charCodeAt(at - 1)
  return at < text.length && before >= 0xd800 && before <= 0xdbff ? at - 1 : at
}
