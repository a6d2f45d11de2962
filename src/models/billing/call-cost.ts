// Calculates what a call cost: the provider's own figure, or else the model's price times the tokens.
import type { ModelCost } from '../../engine/node-api/services/models.ts'
import type { ModelPrice, Usage } from '../provider.ts'

const MILLION = 1_000_000

/** The currency of a reported cost where the model has no price: OpenRouter's `usage.cost`, which other providers copied, is in US dollars. */
const REPORTED_CURRENCY = 'USD'

/** Null, for an unknown cost, where the model has no price and its provider reports no cost. */
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
