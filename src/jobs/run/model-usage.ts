// Sums up the model usage of a job, and derives the cost and models of its result. The metered services of the run report the usage.
import type { CostActual } from '../../../generated/types.ts'
import type { NodeServices } from '../../engine/node-api/node-services.ts'
import type { ModelUsage, ReserveCost } from '../../engine/node-api/services/models.ts'
import { roundAmount } from '../../shared/money.ts'

/** The estimate of a preflight. */
export interface CostEstimate {
  readonly amount: number
  readonly currency: string
}

export class JobModelUsage {
  /** Sums by model, currency, and whether the provider reported the cost. */
  readonly #sums = new Map<string, ModelUsage>()

  add(use: ModelUsage): void {
    const { model, cost } = use
    const key = JSON.stringify([model, cost?.currency ?? null, cost?.reported ?? null])
    const before = this.#sums.get(key)
    this.#sums.set(key, before ? addModelUse(before, use) : use)
  }

  clear(): void {
    this.#sums.clear()
  }

  /** All usage, summed up by kind. */
  get uses(): Iterable<ModelUsage> {
    return this.#sums.values()
  }

  /** The amount paid in a currency. */
  paid(currency: string): number {
    let paid = 0
    for (const { cost } of this.uses) if (cost?.currency === currency) paid += cost.amount
    return paid
  }

  /** The called models, as `provider/name`. */
  get models(): string[] {
    return [...new Set([...this.uses].map(({ model }) => model))].sort()
  }

  get providers(): string[] {
    return [...new Set(this.models.map((model) => model.slice(0, model.indexOf('/'))))].sort()
  }

  /** Null where no call has a price, where the cost is in several currencies, and where the sum is not finite. */
  cost(estimate: CostEstimate | null): CostActual | null {
    const uses = [...this.uses]
    const costs = uses.map(({ cost }) => cost).filter((cost) => cost !== null)
    // A cost of 0 has no currency.
    const [first, ...others] = new Set(costs.filter(({ amount }) => amount > 0).map(({ currency }) => currency))
    const currency = first ?? costs[0]?.currency
    if (currency === undefined || others.length > 0) return null
    const amount = roundAmount(costs.reduce((total, cost) => total + cost.amount, 0))
    if (!Number.isFinite(amount)) return null
    const estimated_amount = estimate?.currency === currency ? estimate.amount : null
    return { amount, currency, estimated_amount, reconciled: uses.every(({ cost }) => cost?.reported === true) }
  }
}

function addModelUse(a: ModelUsage, b: ModelUsage): ModelUsage {
  return {
    model: a.model,
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    cost: a.cost && b.cost && { ...a.cost, amount: a.cost.amount + b.cost.amount },
  }
}

/** Wraps services: `hold` is called before each call of a model, and `used` after it. */
export function meterModelServices(
  services: NodeServices,
  used: (use: ModelUsage) => void,
  hold: ReserveCost | null = null,
): NodeServices {
  const { models } = services
  const metered = <Request extends { used?(use: ModelUsage): void }>(request: Request): Request => ({
    ...request,
    ...(hold ? { hold } : {}),
    used(use: ModelUsage) {
      used(use)
      request.used?.(use)
    },
  })
  return {
    ...services,
    models: {
      complete: (request) => models.complete(metered(request)),
      embed: (request) => models.embed(metered(request)),
      capabilities: (model, signal) => models.capabilities(model, signal),
    },
  }
}
