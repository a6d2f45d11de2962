// Converts OpenAI's `reasoning_effort` to a thinking level or budget of Google's models.
import { createUnsupportedError } from '../shared/unsupported-error.ts'

/** In tokens, as Google's own OpenAI endpoint maps the levels for Gemini 2.5. */
const THINKING_BUDGETS: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 1_024,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
}
/** From Gemini 3 on. Google's answer tells which levels a model has. */
const THINKING_LEVELS: readonly string[] = ['minimal', 'low', 'medium', 'high']

/** @throws ProviderError `unsupported` */
export function createThinkingConfig(
  level: string | null,
  model: string,
  thinks: boolean | null,
  provider: string,
): { [key: string]: unknown } {
  if (level === null) return {}
  const kind = thinkingControlOf(model, thinks)
  if (kind === 'none') {
    if (level === 'none') return {}
    throw createUnsupportedError(provider, 'reasoning_effort', 'takes no effort for this model')
  }
  if (kind === 'budget') {
    if (!Object.hasOwn(THINKING_BUDGETS, level))
      throw createUnsupportedEffortError(provider, Object.keys(THINKING_BUDGETS))
    const thinkingBudget = THINKING_BUDGETS[level]!
    return { thinkingConfig: { ...(thinkingBudget > 0 ? { includeThoughts: true } : {}), thinkingBudget } }
  }
  if (!THINKING_LEVELS.includes(level)) throw createUnsupportedEffortError(provider, THINKING_LEVELS)
  return { thinkingConfig: { includeThoughts: true, thinkingLevel: level.toUpperCase() } }
}

function thinkingControlOf(model: string, thinks: boolean | null): 'budget' | 'level' | 'none' {
  const version = /^gemini-(\d+(?:\.\d+)?)/.exec(model)
  if (thinks === false || (version && Number(version[1]) < 2.5)) return 'none'
  return version && Number(version[1]) < 3 ? 'budget' : 'level'
}

function createUnsupportedEffortError(provider: string, levels: readonly string[]): Error {
  return createUnsupportedError(
    provider,
    'reasoning_effort',
    `takes for this model only the efforts ${levels.join(', ')}`,
  )
}
