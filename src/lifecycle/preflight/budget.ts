// Compares the estimated cost of a run with the spending limits. If nothing is left of a limit, the run cannot start. If less is left than
// the estimate, or running calls have reserved the rest, the run may still complete, so that is a warning.
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

/** A limit, and the cost of a run that counts towards it. */
interface BudgetCheck {
  readonly purse: SpendingLimit
  /** In US dollars, more than 0. */
  readonly amount: number
}

/** Returns no issue for a run without cost, or with unknown cost. */
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

/**
 * Returns what may still be spent. For a shared limit it is the whole limit: otherwise estimates of many sizes would reveal what other
 * users have spent.
 */
function remainingOf({ limit, spent, is_shared = false }: SpendingLimit): number {
  return is_shared ? limit : limit - spent()
}

function shortfallMessage({ purse, amount }: BudgetCheck): string {
  const { subject } = purse
  const left = Number(remainingOf(purse).toPrecision(6))
  return `The run is estimated to cost ${amount} ${LIMIT_CURRENCY}, and ${subject.toLowerCase()} may spend ${left} ${LIMIT_CURRENCY}.`
}
