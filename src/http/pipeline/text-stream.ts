// Long texts that are sent in parts, so that what waits for one slow reader is one part and not a copy of the whole.

/** Characters that are encoded at once without holding up others. */
export const TEXT_CHUNK_LENGTH = 262_144

/** A text that comes in parts, in parts of at least `length` characters, but for the last one. */
export async function* mergeChunks(parts: AsyncIterable<string>, length: number): AsyncGenerator<string, void, void> {
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
export async function awaitFirstChunk(
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
