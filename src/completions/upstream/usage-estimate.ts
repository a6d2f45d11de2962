// Usage of passthrough calls: the provider's count, or an estimate where the provider counts nothing, or zero for a
// text.
import type { ChatCompletionRequest } from '../../../generated/types.ts'
import type { ModelUsage } from '../../engine/node-api/services/models.ts'
import { calculateCallCost } from '../../models/billing/call-cost.ts'
import { countModelTokens, estimateTokensOfLength } from '../../models/billing/token-count.ts'
import { joinMessageText } from '../../models/calls/message-text.ts'
import type { ResolvedModel } from '../../models/catalogue/resolved-model.ts'
import type { Provider } from '../../models/provider.ts'
import type { ReportedUsage } from './chunk-scan.ts'

/** `length` is the length of the model's text, in bytes. */
export function completeUsage(
  { provider }: ResolvedModel,
  { messages }: Pick<ChatCompletionRequest, 'messages'>,
  length: number,
  counted: ReportedUsage | null,
): ReportedUsage {
  return {
    input_tokens: counted?.input_tokens || countSentTokens(provider, messages) || 1,
    output_tokens: counted?.output_tokens || estimateTokensOfLength(length),
    ...(counted?.cost === undefined ? {} : { cost: counted.cost }),
  }
}

/**
 * Counts by messages of a request, which goes to one provider. A stream may need the count for each of very many
 * events, and counting is slow.
 */
const sent_token_counts = new WeakMap<object, number>()

function countSentTokens(provider: Provider, messages: ChatCompletionRequest['messages']): number {
  const tokens = sent_token_counts.get(messages) ?? countModelTokens(provider, messages.map(joinMessageText).join('\n'))
  sent_token_counts.set(messages, tokens)
  return tokens
}

/** Completes the usage of an interrupted answer: the last count and cost may be older than the last text. */
export function completeInterruptedUsage(
  ...[found, body, length, counted]: Parameters<typeof completeUsage>
): ReportedUsage {
  const { input_tokens, output_tokens } = completeUsage(found, body, length, counted)
  return { input_tokens, output_tokens: Math.max(output_tokens, estimateTokensOfLength(length)) }
}

export function toModelUse({ provider, model }: ResolvedModel, counted: ReportedUsage): ModelUsage {
  const { input_tokens, output_tokens } = counted
  const cost = calculateCallCost(model.price, { input_tokens, output_tokens, cost: counted.cost ?? null })
  return { model: `${provider.name}/${model.name}`, input_tokens, output_tokens, cost }
}
