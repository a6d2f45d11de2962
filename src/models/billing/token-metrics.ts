// The metric of tokens by provider, for all callers together.
import { Counter, type Metrics } from '../../metrics.ts'
import type { BillingContext } from './billing-context.ts'

/** Wraps a billing context so that its tokens are counted. */
export function createTokenMetering(metrics: Metrics): (billing: BillingContext) => BillingContext {
  const tokens = metrics.add(new Counter('svc_model_tokens_total', 'Tokens of models, by provider and direction.'))
  const count = (provider: string, direction: 'input' | 'output', by: number) =>
    tokens.add(`${provider} ${direction}`, () => ({ provider, direction }), by)
  return (billing) => ({
    owner: billing.owner,
    key: (name) => billing.key(name),
    admit: () => billing.admit(),
    charge(use) {
      const provider = use.model.slice(0, use.model.indexOf('/'))
      count(provider, 'input', use.input_tokens)
      count(provider, 'output', use.output_tokens)
      billing.charge(use)
    },
  })
}
