// How many tokens a text has, by its provider's count where that can be.
import type { Provider } from './provider.ts'

/** What a token is taken to have of a text that the provider does not count. */
const CHARACTERS_OF_TOKEN = 4

/** Of a longer text parts of so many characters together are counted, which lie evenly in it: to count all of it would hold everybody up. */
const MOST_COUNTED = 131_072
const PARTS = 16

/** Zero for no text alone. Of a long one about as many as it has. */
export function tokensOf(provider: Provider, text: string): number {
  if (text === '') return 0
  return text.length <= MOST_COUNTED ? tokensIn(provider, text) : tokensByParts(provider, text)
}

function tokensByParts(provider: Provider, text: string): number {
  const length = MOST_COUNTED / PARTS
  const apart = (text.length - length) / (PARTS - 1)
  let tokens = 0
  for (let part = 0; part < PARTS; part++) {
    const from = Math.floor(part * apart)
    tokens += tokensIn(provider, text.slice(from, from + length))
  }
  return Math.ceil((tokens / MOST_COUNTED) * text.length)
}

function tokensIn(provider: Provider, text: string): number {
  const count = counted(provider, text)
  return count !== null && count >= 0 && count <= text.length
    ? Math.max(1, Math.ceil(count))
    : guessedTokens(text.length)
}

/** Null where the provider throws, or gives no number. */
function counted(provider: Provider, text: string): number | null {
  try {
    const count: unknown = provider.countTokens(text)
    return typeof count === 'number' ? count : null
  } catch {
    return null
  }
}

/** How many tokens a text of that length most likely has. */
export function guessedTokens(length: number): number {
  return Math.ceil(length / CHARACTERS_OF_TOKEN)
}
