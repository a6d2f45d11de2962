// What a call cost: what its provider says, or else what its prices come to.
import type { ModelCost } from '../../engine/node-api/node-services.ts'
import type { ModelPrice, Usage } from '../provider.ts'

const MILLION = 1_000_000

/** Of a cost that a provider reports for a model without a price: OpenRouter's `usage.cost`, which others took over, is in US dollars. */
const REPORTED_CURRENCY = 'USD'

/** Null where the model has no price and its provider says no cost: then nobody knows either. */
export function calculateCallCost(
  price: ModelPrice | null,
  { input_tokens, output_tokens, cost }: Usage,
): ModelCost | null {
  if (!price) return cost === null ? null : { amount: cost, currency: REPORTED_CURRENCY, reported: true }
  const { currency, per_request, per_million_input_tokens, per_million_output_tokens } = price
  if (cost !== null) return { amount: cost, currency, reported: true }
  const tokens = input_tokens * per_million_input_tokens + output_tokens * per_million_output_tokens
  return { amount: per_request + tokens / MILLION, currency, reported: false }
}
