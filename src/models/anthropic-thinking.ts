// How much a model of Anthropic's shall think: OpenAI's `reasoning_effort` in the words that the model takes.
import type { ClaudeTraits } from './anthropic-traits.ts'
import { notTaken } from './vendor-refusals.ts'

/** Tokens of thinking where a model takes a budget; the least that it takes comes first. */
const BUDGETS: Readonly<Record<string, number>> = { low: 1_024, medium: 8_192, high: 24_576 }
const LEVELS: readonly string[] = ['low', 'medium', 'high', 'xhigh', 'max']

export interface ThinkingFields {
  readonly effort?: string
  readonly thinking?: { readonly type: 'enabled' | 'adaptive' | 'disabled'; readonly [key: string]: unknown }
}

/** @throws ProviderError `unsupported` */
export function thinkingFields(
  level: string | null,
  { thinking, efforts }: ClaudeTraits,
  max_tokens: number,
  provider: string,
): ThinkingFields {
  if (level === null) return {}
  if (level === 'none') return thinking === 'none' ? {} : { thinking: { type: 'disabled' } }
  const levels = thinking === 'budget' && efforts?.length === 0 ? Object.keys(BUDGETS) : (efforts ?? LEVELS)
  if (thinking === 'none' || !levels.includes(level)) throw noEffort(provider, thinking === 'none' ? [] : levels)
  const effort = efforts === null || efforts.length > 0 ? { effort: level } : {}
  if (thinking === 'adaptive') return { ...effort, thinking: { type: 'adaptive', display: 'summarized' } }
  const [least, budget] = [BUDGETS.low!, BUDGETS[level] ?? BUDGETS.high!]
  if (max_tokens <= least)
    throw notTaken(provider, 'reasoning_effort', `thinks only in answers that may have more than ${least} tokens`)
  const budget_tokens = Math.max(least, Math.min(budget, Math.floor(max_tokens / 2)))
  return { ...effort, thinking: { type: 'enabled', budget_tokens } }
}

function noEffort(provider: string, levels: readonly string[]): Error {
  const why =
    levels.length > 0 ? `has for this model the efforts none, ${levels.join(', ')}` : 'has no effort for this model'
  return notTaken(provider, 'reasoning_effort', why)
}
