// How many tokens a text has, by its provider's count where that can be.
import type { Provider } from '../provider.ts'

/** What a token is taken to have of a text that the provider does not count. */
const CHARACTERS_PER_TOKEN = 4

/** Of a longer text parts of so many characters together are counted, which lie evenly in it: to count all of it would hold everybody up. */
const MAX_COUNTED_LENGTH = 131_072
const SAMPLED_PARTS = 16

/** Zero for no text alone. Of a long one about as many as it has. */
export function countModelTokens(provider: Provider, text: string): number {
  if (text === '') return 0
  return text.length <= MAX_COUNTED_LENGTH ? countShortText(provider, text) : countSampledTokens(provider, text)
}

function countSampledTokens(provider: Provider, text: string): number {
  const length = MAX_COUNTED_LENGTH / SAMPLED_PARTS
  const apart = (text.length - length) / (SAMPLED_PARTS - 1)
  let tokens = 0
  for (let part = 0; part < SAMPLED_PARTS; part++) {
    const from = Math.floor(part * apart)
    tokens += countShortText(provider, text.slice(from, from + length))
  }
  return Math.ceil((tokens / MAX_COUNTED_LENGTH) * text.length)
}

function countShortText(provider: Provider, text: string): number {
  const count = askProviderCount(provider, text)
  return count !== null && count >= 0 && count <= text.length
    ? Math.max(1, Math.ceil(count))
    : estimateTokensOfLength(text.length)
}

/** Null where the provider throws, or gives no number. */
function askProviderCount(provider: Provider, text: string): number | null {
  try {
    const count: unknown = provider.countTokens(text)
    return typeof count === 'number' ? count : null
  } catch {
    return null
  }
}

/** How many tokens a text of that length most likely has. */
export function estimateTokensOfLength(length: number): number {
  return Math.ceil(length / CHARACTERS_PER_TOKEN)
}
