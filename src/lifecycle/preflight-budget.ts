// Whether what a run would cost is left of what may be spent. Where nothing is left it cannot run; where less is left than it is estimated to
// cost it may still come to its end, since estimates are no promises, and so it may where calls under way have set aside what is left.
import type { PreflightCost, PreflightIssue } from '../../generated/types.ts'
import type { LimitsAhead } from '../models/budgets.ts'
import { CURRENCY, overBudget, type Purse, roomIn } from '../models/purse.ts'
import type { Availability } from './preflight-availability.ts'
import { errorIssue, warningIssue } from './preflight-issues.ts'

/** A limit, and what a run would cost of what counts towards it. */
interface Check {
  readonly purse: Purse
  /** In US dollars, more than 0. */
  readonly amount: number
}

/** Of a run that costs nothing, or nothing that anybody knows, nothing is said. */
export function budgetIssues(
  { cost, operators_cost }: Pick<Availability, 'cost' | 'operators_cost'>,
  { all, operator }: LimitsAhead,
): PreflightIssue[] {
  const checks = [...checksOf(all, cost), ...checksOf(operator, operators_cost)]
  const spent = checks.find(({ purse }) => roomIn(purse) === 'spent')
  if (spent) return [errorIssue('over_budget', overBudget(spent.purse).message)]
  const short = checks.find(({ purse, amount }) => amount > leftOf(purse))
  if (short) return [warningIssue('over_budget', shortText(short))]
  const held = checks.find(({ purse }) => roomIn(purse) === 'held')
  return held ? [warningIssue('over_budget', overBudget(held.purse).message)] : []
}

function checksOf(purses: readonly Purse[], cost: PreflightCost | null): Check[] {
  if (cost === null || cost.currency !== CURRENCY || cost.amount === null || cost.amount === 0) return []
  const { amount } = cost
  return purses.map((purse) => ({ purse, amount }))
}

/** What may be spent, as far as it may be told: by estimates of many sizes anybody would find out what all others have spent. */
function leftOf({ limit, spent, is_shared = false }: Purse): number {
  return is_shared ? limit : limit - spent()
}

function shortText({ purse, amount }: Check): string {
  const { whose } = purse
  const left = Number(leftOf(purse).toPrecision(6))
  return `The run is estimated to cost ${amount} ${CURRENCY}, and ${whose.toLowerCase()} may spend ${left} ${CURRENCY}.`
}
