// Estimates the minimum cost of a call before it is made: the cost of its input, since the length of the answer is unknown.
import type { ModelCost, ModelMessage } from '../../engine/node-api/services/models.ts'
import { joinMessageText } from '../calls/message-text.ts'
import type { ResolvedModel } from '../catalogue/resolved-model.ts'
import type { CompletionRequest } from '../provider.ts'
import { calculateCallCost } from './call-cost.ts'
import { countModelTokens } from './token-count.ts'

/** Null where the model has no price. */
export function estimateCompletionCost({ provider, model }: ResolvedModel, body: CompletionRequest): ModelCost | null {
  if (!model.price) return null
  return calculateCallCost(model.price, {
    input_tokens: countSentTokens(provider, body.messages),
    output_tokens: 0,
    cost: null,
  })
}

function countSentTokens(provider: ResolvedModel['provider'], messages: readonly ModelMessage[]): number {
  return countModelTokens(provider, messages.map(joinMessageText).join('\n'))
}

export function estimateEmbeddingCost({ provider, model }: ResolvedModel, input: readonly string[]): ModelCost | null {
  const input_tokens = model.price ? countModelTokens(provider, input.join('\n')) : 0
  return calculateCallCost(model.price, { input_tokens, output_tokens: 0, cost: null })
}
