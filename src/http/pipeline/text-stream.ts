// Sends long texts in chunks, so that a slow reader holds a chunk in memory and not the whole text.

/** Characters that are encoded at once without blocking the event loop for long. */
export const TEXT_CHUNK_LENGTH = 262_144

/** Merges parts into chunks of at least `length` characters; only the last may be shorter. */
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
 * Waits for the first part, so that an earlier failure gets an error response. Not a generator: a generator that ends before its first part is read
 * would leave `text` open.
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
