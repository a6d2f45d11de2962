// The operator's limits of what models may cost: of a user and of all on one day, and of one job.
import type { Scope } from '../db/scope.ts'
import type { Hold } from '../engine/services.ts'
import { Counter, type Metrics } from '../metrics.ts'
import type { Customer } from './customer.ts'
import type { Ledger } from './ledger.ts'
import { nodeErrorOf } from './node-errors.ts'
import { checkPurses, counted, hold, type Purse } from './purse.ts'

export interface BudgetLimits {
  readonly max_cost_per_job: number | null
  readonly max_cost_per_user_per_day: number | null
  readonly max_cost_per_day: number | null
}

export class Budgets {
  readonly #limits: BudgetLimits
  readonly #ledger: Ledger
  readonly #costs: Counter
  readonly #users = new Map<string, Purse>()
  readonly #day: Purse | null

  constructor(limits: BudgetLimits, ledger: Ledger, metrics: Metrics) {
    this.#limits = limits
    this.#ledger = ledger
    this.#costs = metrics.add(new Counter('svc_model_cost_total', 'What models have cost, by provider and currency.'))
    this.#day = this.#daily(limits.max_cost_per_day, 'This server', null)
  }

  /** The same customer, within the limits of the day. */
  of(owner: Scope, customer: Customer): Customer {
    return {
      owner: customer.owner,
      key: (name) => customer.key(name),
      admit: () => {
        checkPurses(this.#pursesOf(owner))
        customer.admit()
      },
      charge: (use) => {
        this.#ledger.add(owner, use)
        const { cost, model } = use
        if (cost) {
          const labels = { provider: model.slice(0, model.indexOf('/')), currency: cost.currency }
          this.#costs.add(JSON.stringify(labels), () => labels, cost.amount)
        }
        customer.charge(use)
      },
      hold: (sure) => {
        const purses = this.#pursesOf(owner)
        return purses.length === 0 ? null : hold(purses, counted(sure()))
      },
    }
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

  /** The limits that a new job of this owner has to do with. */
  ahead(owner: Scope): readonly Purse[] {
    const limit = this.#limits.max_cost_per_job
    const job: Purse[] =
      limit === null ? [] : [{ limit, whose: 'A job', spent: () => 0, resets_in: () => null, held: 0 }]
    return [...job, ...this.#pursesOf(owner)]
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
