// Enforces the spending limits for models. The limits per day, of a user and of all users, count only what the operator pays. The limit of a job counts
// every call.
import type { OwnerScope } from '../../db/owner-scope.ts'
import type { ModelUsage, ReserveCost } from '../../engine/node-api/services/models.ts'
import { Counter, type Metrics } from '../../metrics.ts'
import { toNodeError } from '../calls/node-errors.ts'
import { type BilledCall, type BilledParty, type OperatorKeys, resolveBilledParty } from './billed-party.ts'
import type { BillingContext } from './billing-context.ts'
import type { SpendingLedger } from './spending-ledger.ts'
import { amountTowardsLimits, guardSpendingLimits, reserveCost, type SpendingLimit } from './spending-limit.ts'

export interface BudgetLimits {
  readonly max_cost_per_job: number | null
  readonly max_cost_per_user_per_day: number | null
  readonly max_cost_per_day: number | null
}

interface BudgetEnforcerSettings extends BudgetLimits, OperatorKeys {
  /** Null: all callers are the same user. */
  readonly identity_provider: object | null
}

/** `all` counts every call, `operator` only calls that the operator pays. */
export interface NewJobLimits {
  readonly all: readonly SpendingLimit[]
  readonly operator: readonly SpendingLimit[]
}

export class BudgetEnforcer {
  readonly #limits: BudgetLimits
  readonly #keys: OperatorKeys
  readonly #ledger: SpendingLedger
  readonly #costs: Counter
  readonly #userLimits = new Map<string, SpendingLimit>()
  readonly #serverLimit: SpendingLimit | null

  constructor(limits: BudgetEnforcerSettings, ledger: SpendingLedger, metrics: Metrics) {
    this.#limits = limits
    this.#keys = limits
    this.#ledger = ledger
    this.#costs = metrics.add(new Counter('svc_model_cost_total', 'What models have cost, by provider and currency.'))
    const day = this.#createDailyLimit(limits.max_cost_per_day, 'This server', null)
    this.#serverLimit = day && { ...day, is_shared: limits.identity_provider !== null }
  }

  /** The same billing context, within the limits of the day. */
  applyDailyLimits(owner: OwnerScope, billing: BillingContext): BillingContext {
    const limited: BillingContext = {
      owner: billing.owner,
      key: (name) => billing.key(name),
      admit: () => {
        guardSpendingLimits(this.#dailyLimitsOf(owner))
        billing.admit()
      },
      charge: (use) => this.#charge(owner, billing, use, 'operator'),
      hold: (minimumCost) => {
        const limits = this.#dailyLimitsOf(owner)
        return limits.length === 0 ? null : reserveCost(limits, amountTowardsLimits(minimumCost()))
      },
      forCall: (call) => (this.payer(owner, call) === 'caller' ? this.#withoutDailyLimits(owner, billing) : limited),
    }
    return limited
  }

  payer(owner: OwnerScope, call: BilledCall): BilledParty {
    return resolveBilledParty(this.#keys, owner, call)
  }

  /** The same billing context for calls that the caller pays: their cost is counted, but no limit of the day applies. */
  #withoutDailyLimits(owner: OwnerScope, billing: BillingContext): BillingContext {
    return {
      owner: billing.owner,
      key: (name) => billing.key(name),
      admit: () => billing.admit(),
      charge: (use) => this.#charge(owner, billing, use, 'caller'),
    }
  }

  #charge(owner: OwnerScope, billing: BillingContext, use: ModelUsage, payer: BilledParty): void {
    this.#ledger.add(owner, use, payer)
    const { cost, model } = use
    if (cost) {
      const labels = { provider: model.slice(0, model.indexOf('/')), currency: cost.currency }
      this.#costs.add(JSON.stringify(labels), () => labels, cost.amount)
    }
    billing.charge(use)
  }

  /** Reserves cost within the limit of one job; null where there is no limit. `spent`: what the job has spent so far. */
  createJobHold(spent: () => number): ReserveCost | null {
    const limit = this.#limits.max_cost_per_job
    if (limit === null) return null
    const jobLimit: SpendingLimit = { limit, subject: 'This job', spent, resets_in: () => null, held: 0 }
    return (minimumCost) => {
      try {
        return reserveCost([jobLimit], amountTowardsLimits(minimumCost()))
      } catch (error) {
        throw toNodeError(error)
      }
    }
  }

  /** The limits that apply to a new job of this owner. */
  ahead(owner: OwnerScope): NewJobLimits {
    const limit = this.#limits.max_cost_per_job
    const all = limit === null ? [] : [{ limit, subject: 'A job', spent: () => 0, resets_in: () => null, held: 0 }]
    return { all, operator: this.#dailyLimitsOf(owner) }
  }

  #dailyLimitsOf({ user_id }: OwnerScope): SpendingLimit[] {
    const limit = this.#limits.max_cost_per_user_per_day
    const limits = this.#serverLimit ? [this.#serverLimit] : []
    if (limit === null) return limits
    let own = this.#userLimits.get(user_id)
    if (!own) {
      own = this.#createDailyLimit(limit, 'This user', user_id)!
      this.#userLimits.set(user_id, own)
    }
    return [own, ...limits]
  }

  #createDailyLimit(limit: number | null, whose: string, user_id: string | null): SpendingLimit | null {
    if (limit === null) return null
    const ledger = this.#ledger
    return { limit, subject: whose, spent: () => ledger.spent(user_id), resets_in: () => ledger.resets_in, held: 0 }
  }
}
