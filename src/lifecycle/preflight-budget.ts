// Whether what a run would cost is left of what may be spent. Where nothing is left it cannot run; where less is left than it is estimated to
// cost it may still come to its end, since estimates are no promises.
import type { PreflightCost, PreflightIssue } from '../../generated/types.ts'
import { CURRENCY, overBudget, type Purse, roomIn } from '../models/purse.ts'
import { errorIssue, warningIssue } from './preflight-issues.ts'

/** Of a run that costs nothing, or nothing that anybody knows, nothing is said. */
export function budgetIssues(cost: PreflightCost | null, purses: readonly Purse[]): PreflightIssue[] {
  if (cost === null || cost.currency !== CURRENCY || cost.amount === null || cost.amount === 0) return []
  const amount = cost.amount
  const empty = purses.find((purse) => roomIn(purse) === 'spent')
  if (empty) return [errorIssue('over_budget', overBudget(empty).message)]
  const short = purses.find((purse) => purse.spent() + amount > purse.limit)
  if (!short) return []
  const left = Number((short.limit - short.spent()).toPrecision(6))
  const text = `The run is estimated to cost ${amount} ${CURRENCY}, and ${short.whose.toLowerCase()} may spend ${left} ${CURRENCY}.`
  return [warningIssue('over_budget', text)]
}
