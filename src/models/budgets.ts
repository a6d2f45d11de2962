// The operator's limits of what models may cost: of a user and of all on one day, of what the operator pays alone; and of one job, whoever pays.
import type { Scope } from '../db/scope.ts'
import type { Hold, ModelUse } from '../engine/services.ts'
import { Counter, type Metrics } from '../metrics.ts'
import type { Customer } from './customer.ts'
import type { Ledger } from './ledger.ts'
import { nodeErrorOf } from './node-errors.ts'
import { type Called, type OperatorKeys, type Payer, payerOf } from './payer.ts'
import { checkPurses, counted, hold, type Purse } from './purse.ts'

export interface BudgetLimits {
  readonly max_cost_per_job: number | null
  readonly max_cost_per_user_per_day: number | null
  readonly max_cost_per_day: number | null
}

interface BudgetSettings extends BudgetLimits, OperatorKeys {
  /** Null: all callers are one user. */
  readonly identity_provider: object | null
}

/** By what counts towards them. */
export interface LimitsAhead {
  readonly all: readonly Purse[]
  readonly operator: readonly Purse[]
}

export class Budgets {
  readonly #limits: BudgetLimits
  readonly #keys: OperatorKeys
  readonly #ledger: Ledger
  readonly #costs: Counter
  readonly #users = new Map<string, Purse>()
  readonly #day: Purse | null

  constructor(limits: BudgetSettings, ledger: Ledger, metrics: Metrics) {
    this.#limits = limits
    this.#keys = limits
    this.#ledger = ledger
    this.#costs = metrics.add(new Counter('svc_model_cost_total', 'What models have cost, by provider and currency.'))
    const day = this.#daily(limits.max_cost_per_day, 'This server', null)
    this.#day = day && { ...day, is_shared: limits.identity_provider !== null }
  }

  /** The same customer, within the limits of the day. */
  of(owner: Scope, customer: Customer): Customer {
    const limited: Customer = {
      owner: customer.owner,
      key: (name) => customer.key(name),
      admit: () => {
        checkPurses(this.#pursesOf(owner))
        customer.admit()
      },
      charge: (use) => this.#charge(owner, customer, use, 'operator'),
      hold: (sure) => {
        const purses = this.#pursesOf(owner)
        return purses.length === 0 ? null : hold(purses, counted(sure()))
      },
      calling: (called) => (this.payer(owner, called) === 'caller' ? this.#paying(owner, customer) : limited),
    }
    return limited
  }

  payer(owner: Scope, called: Called): Payer {
    return payerOf(this.#keys, owner, called)
  }

  /** The same customer, who pays: what it costs is counted, and held to no limit of the day. */
  #paying(owner: Scope, customer: Customer): Customer {
    return {
      owner: customer.owner,
      key: (name) => customer.key(name),
      admit: () => customer.admit(),
      charge: (use) => this.#charge(owner, customer, use, 'caller'),
    }
  }

  #charge(owner: Scope, customer: Customer, use: ModelUse, payer: Payer): void {
    this.#ledger.add(owner, use, payer)
    const { cost, model } = use
    if (cost) {
      const labels = { provider: model.slice(0, model.indexOf('/')), currency: cost.currency }
      this.#costs.add(JSON.stringify(labels), () => labels, cost.amount)
    }
    customer.charge(use)
  }

  /** What holds one job to its limit; null where there is none. `spent`: what it has spent so far. */
  job(spent: () => number): Hold | null {
    const limit = this.#limits.max_cost_per_job
    if (limit === null) return null
    const purse: Purse = { limit, whose: 'This job', spent, resets_in: () => null, held: 0 }
    return (sure) => {
      try {
        return hold([purse], counted(sure()))
      } catch (error) {
        throw nodeErrorOf(error)
      }
    }
  }

  /** The limits that a new job of this owner has to do with: of all that it costs, and of what the operator pays of that. */
  ahead(owner: Scope): LimitsAhead {
    const limit = this.#limits.max_cost_per_job
    const all = limit === null ? [] : [{ limit, whose: 'A job', spent: () => 0, resets_in: () => null, held: 0 }]
    return { all, operator: this.#pursesOf(owner) }
  }

  #pursesOf({ user_id }: Scope): Purse[] {
    const limit = this.#limits.max_cost_per_user_per_day
    const purses = this.#day ? [this.#day] : []
    if (limit === null) return purses
    let own = this.#users.get(user_id)
    if (!own) {
      own = this.#daily(limit, 'This user', user_id)!
      this.#users.set(user_id, own)
    }
    return [own, ...purses]
  }

  #daily(limit: number | null, whose: string, user_id: string | null): Purse | null {
    if (limit === null) return null
    const ledger = this.#ledger
    return { limit, whose, spent: () => ledger.spent(user_id), resets_in: () => ledger.resets_in, held: 0 }
  }
}
