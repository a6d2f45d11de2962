// What a call costs in any case, before it is made: what is sent, without the answer, of which nobody knows how long it is.
import type { ModelCost, ModelMessage } from '../engine/services.ts'
import type { Found } from './finding.ts'
import { textOf } from './message-text.ts'
import { costOf } from './prices.ts'
import type { CompletionRequest } from './provider.ts'
import { tokensOf } from './tokens.ts'

/** Null where the model has no price. */
export function completionEstimate({ provider, model }: Found, body: CompletionRequest): ModelCost | null {
  if (!model.price) return null
  return costOf(model.price, { input_tokens: sentTokens(provider, body.messages), output_tokens: 0, cost: null })
}

function sentTokens(provider: Found['provider'], messages: readonly ModelMessage[]): number {
  return tokensOf(provider, messages.map(textOf).join('\n'))
}

export function embeddingEstimate({ provider, model }: Found, input: readonly string[]): ModelCost | null {
  const input_tokens = model.price ? tokensOf(provider, input.join('\n')) : 0
  return costOf(model.price, { input_tokens, output_tokens: 0, cost: null })
}
