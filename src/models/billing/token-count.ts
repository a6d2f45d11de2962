// Counts the tokens of a text, by the provider's own count where it gives one.
import type { Provider } from '../provider.ts'

/** For texts that the provider does not count. */
const CHARACTERS_PER_TOKEN = 4

/** In characters. Of a longer text only this much is counted, in evenly spaced parts: counting all of it would block the process. */
const MAX_COUNTED_LENGTH = 131_072
const SAMPLED_PARTS = 16

/** Zero only for an empty text; an estimate for a long text. */
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

function askProviderCount(provider: Provider, text: string): number | null {
  try {
    const count: unknown = provider.countTokens(text)
    return typeof count === 'number' ? count : null
  } catch {
    return null
  }
}

export function estimateTokensOfLength(length: number): number {
  return Math.ceil(length / CHARACTERS_PER_TOKEN)
}
