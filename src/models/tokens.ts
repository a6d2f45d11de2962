// How many tokens a text has, by its provider's count where that can be.
import type { Provider } from './provider.ts'

/** What a token is taken to have of a text that the provider does not count. */
const CHARACTERS_OF_TOKEN = 4

/** Zero for no text alone. */
export function tokensOf(provider: Provider, text: string): number {
  if (text === '') return 0
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
