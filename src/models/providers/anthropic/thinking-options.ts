// Converts OpenAI's `reasoning_effort` to the thinking options of Anthropic's models.

import { createUnsupportedError } from '../shared/unsupported-error.ts'
import type { ClaudeTraits } from './model-traits.ts'

/** In tokens, for models with a budget. The first is the least that they take. */
const THINKING_BUDGETS: Readonly<Record<string, number>> = { low: 1_024, medium: 8_192, high: 24_576 }
const EFFORT_LEVELS: readonly string[] = ['low', 'medium', 'high', 'xhigh', 'max']

export interface ThinkingFields {
  readonly effort?: string
  readonly thinking?: { readonly type: 'enabled' | 'adaptive' | 'disabled'; readonly [key: string]: unknown }
}

/** @throws ProviderError `unsupported` */
export function createThinkingFields(
  level: string | null,
  { thinking, efforts }: ClaudeTraits,
  max_tokens: number,
  provider: string,
): ThinkingFields {
  if (level === null) return {}
  if (level === 'none') return thinking === 'none' ? {} : { thinking: { type: 'disabled' } }
  const levels =
    thinking === 'budget' && efforts?.length === 0 ? Object.keys(THINKING_BUDGETS) : (efforts ?? EFFORT_LEVELS)
  if (thinking === 'none' || !levels.includes(level))
    throw createUnsupportedEffortError(provider, thinking === 'none' ? [] : levels)
  const effort = efforts === null || efforts.length > 0 ? { effort: level } : {}
  if (thinking === 'adaptive') return { ...effort, thinking: { type: 'adaptive', display: 'summarized' } }
  const [least, budget] = [THINKING_BUDGETS.low!, THINKING_BUDGETS[level] ?? THINKING_BUDGETS.high!]
  if (max_tokens <= least)
    throw createUnsupportedError(
      provider,
      'reasoning_effort',
      `takes an effort only where the answer may have more than ${least} tokens`,
    )
  const budget_tokens = Math.max(least, Math.min(budget, Math.floor(max_tokens / 2)))
  return { ...effort, thinking: { type: 'enabled', budget_tokens } }
}

function createUnsupportedEffortError(provider: string, levels: readonly string[]): Error {
  const why =
    levels.length > 0
      ? `takes for this model only the efforts none, ${levels.join(', ')}`
      : 'takes no effort for this model'
  return createUnsupportedError(provider, 'reasoning_effort', why)
}
