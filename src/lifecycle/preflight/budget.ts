// Whether what a run would cost is left of what may be spent. Where nothing is left it cannot run; where less is left than it is estimated to
// cost it may still come to its end, since estimates are no promises, and so it may where calls under way have set aside what is left.
import type { PreflightCost, PreflightIssue } from '../../../generated/types.ts'
import type { NewJobLimits } from '../../models/billing/budgets.ts'
import {
  checkLimit,
  createOverBudgetError,
  LIMIT_CURRENCY,
  type SpendingLimit,
} from '../../models/billing/spending-limit.ts'
import type { Availability } from './availability.ts'
import { createErrorIssue, createWarningIssue } from './issues.ts'

/** A limit, and what a run would cost of what counts towards it. */
interface BudgetCheck {
  readonly purse: SpendingLimit
  /** In US dollars, more than 0. */
  readonly amount: number
}

/** Of a run that costs nothing, or nothing that anybody knows, nothing is said. */
export function findBudgetIssues(
  { cost, operators_cost }: Pick<Availability, 'cost' | 'operators_cost'>,
  { all, operator }: NewJobLimits,
): PreflightIssue[] {
  const checks = [...toChecks(all, cost), ...toChecks(operator, operators_cost)]
  const spent = checks.find(({ purse }) => checkLimit(purse) === 'spent')
  if (spent) return [createErrorIssue('over_budget', createOverBudgetError(spent.purse).message)]
  const short = checks.find(({ purse, amount }) => amount > remainingOf(purse))
  if (short) return [createWarningIssue('over_budget', shortfallMessage(short))]
  const held = checks.find(({ purse }) => checkLimit(purse) === 'held')
  return held ? [createWarningIssue('over_budget', createOverBudgetError(held.purse).message)] : []
}

function toChecks(purses: readonly SpendingLimit[], cost: PreflightCost | null): BudgetCheck[] {
  if (cost === null || cost.currency !== LIMIT_CURRENCY || cost.amount === null || cost.amount === 0) return []
  const { amount } = cost
  return purses.map((purse) => ({ purse, amount }))
}

/** What may be spent, as far as it may be told: by estimates of many sizes anybody would find out what all others have spent. */
function remainingOf({ limit, spent, is_shared = false }: SpendingLimit): number {
  return is_shared ? limit : limit - spent()
}

function shortfallMessage({ purse, amount }: BudgetCheck): string {
  const { subject: whose } = purse
  const left = Number(remainingOf(purse).toPrecision(6))
  return `The run is estimated to cost ${amount} ${LIMIT_CURRENCY}, and ${whose.toLowerCase()} may spend ${left} ${LIMIT_CURRENCY}.`
}
