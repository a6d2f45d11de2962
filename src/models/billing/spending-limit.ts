// Limits of what calls of models may cost, and what calls under way take of them. Amounts are US dollars: what is paid in another currency,
// or has no price, counts towards no limit.

import type { ModelCost } from '../../engine/node-api/node-services.ts'
import { roundAmount } from '../../shared/money.ts'
import { ProviderError } from '../provider-error.ts'

export const LIMIT_CURRENCY = 'USD'

/** When a call may be made again that found no more than calls under way in its way. Most of them are over by then, or cost less than their limit. */
export const RESERVED_RETRY_SECONDS = 5

/** One limit. */
export interface SpendingLimit {
  readonly limit: number
  /** Whose it is, as the message begins: "This job". */
  readonly subject: string
  readonly spent: () => number
  /** Seconds until it is filled again; null: never. */
  readonly resets_in: () => number | null
  /** What calls under way cost in any case. */
  held: number
  /** Whether others spend of it as well. What they have spent is told to nobody: of two users each would know what the other one does. */
  readonly is_shared?: boolean
}

/** Whether a call finds room in a purse. If not: for what is spent, or only for what calls under way have set aside. */
export type LimitState = 'enough' | 'held' | 'spent'

/** `sure`: what the call costs in any case. */
export function checkLimit({ limit, spent, held }: SpendingLimit, minimumCost = 0): LimitState {
  const used = spent()
  if (!isWithinLimit(limit, used, minimumCost)) return 'spent'
  return isWithinLimit(limit, used + held, minimumCost) ? 'enough' : 'held'
}

function isWithinLimit(limit: number, used: number, minimumCost: number): boolean {
  return roundAmount(used) < limit && roundAmount(used + minimumCost) <= limit
}

/** @throws ProviderError `over_budget` where one of them has no room for a call that costs `sure` in any case */
export function guardSpendingLimits(limits: readonly SpendingLimit[], minimumCost = 0): void {
  let reserved: SpendingLimit | null = null
  for (const spendingLimit of limits) {
    const state = checkLimit(spendingLimit, minimumCost)
    if (state === 'spent') throw createOverBudgetError(spendingLimit, minimumCost)
    if (state === 'held') reserved ??= spendingLimit
  }
  // After the others: to try again soon helps where nothing else is in the way.
  if (reserved) throw createOverBudgetError(reserved, minimumCost)
}

/** For a call that finds no room in it. */
export function createOverBudgetError(spendingLimit: SpendingLimit, minimumCost = 0): ProviderError {
  const held = checkLimit(spendingLimit, minimumCost) === 'held' ? spendingLimit.held : 0
  const used = roundAmount(spendingLimit.spent() + held)
  const call = used < spendingLimit.limit ? ` The call costs ${formatDollars(minimumCost)} at least.` : ''
  const wait = held > 0 ? retrySoon() : retryNextDay(spendingLimit, minimumCost)
  const text = `${spendingLimit.is_shared ? describeSharedLimit(spendingLimit, used, held) : describeOwnLimit(spendingLimit, used, held)}${call}${wait.text}`
  return new ProviderError('over_budget', text, { retry_after_seconds: wait.seconds })
}

function describeOwnLimit({ subject: whose, limit }: SpendingLimit, used: number, held: number): string {
  const amount =
    held > 0
      ? `spent or set aside ${formatDollars(used)} on models, calls under way included`
      : `spent ${formatDollars(used)} on models`
  return `${whose} has ${amount}, and may spend ${formatDollars(limit)}.`
}

function describeSharedLimit({ subject: whose, limit }: SpendingLimit, used: number, held: number): string {
  const left = used < limit ? 'too little' : 'nothing'
  return `${whose} has ${left} left of the ${formatDollars(limit)} that it may spend on models${held > 0 ? ', calls under way included' : ''}.`
}

/** When to try again, as the message ends; null: never. */
interface RetryAdvice {
  readonly seconds: number | null
  readonly text: string
}

function retrySoon(): RetryAdvice {
  const text = ` Calls under way may leave room soon: try again in ${RESERVED_RETRY_SECONDS} seconds.`
  return { seconds: RESERVED_RETRY_SECONDS, text }
}

function retryNextDay({ limit, resets_in }: SpendingLimit, minimumCost: number): RetryAdvice {
  const seconds = minimumCost > limit ? null : resets_in()
  return { seconds, text: seconds === null ? '' : ` The limit begins anew in ${formatDuration(seconds)}.` }
}

/**
 * Counts a call as paid for what it costs in any case, until it is over: so no more than each purse has left. Nobody ever waits for another one: a
 * call may go on for as long as whoever reads its answer.
 * @throws ProviderError `over_budget`
 */
export function reserveCost(limits: readonly SpendingLimit[], minimumCost: number): Disposable {
  guardSpendingLimits(limits, minimumCost)
  for (const spendingLimit of limits) spendingLimit.held = roundAmount(spendingLimit.held + minimumCost)
  let isReserved = true
  return {
    [Symbol.dispose]: () => {
      if (!isReserved) return
      isReserved = false
      for (const spendingLimit of limits) spendingLimit.held = roundAmount(spendingLimit.held - minimumCost)
    },
  }
}

/** What of a cost counts. */
export function amountTowardsLimits(cost: ModelCost | null): number {
  return cost?.currency === LIMIT_CURRENCY ? cost.amount : 0
}

/** To the cent, and small amounts as exactly as they are. */
function formatDollars(amount: number): string {
  const text = amount >= 0.01 || amount === 0 ? amount.toFixed(2) : String(Number(amount.toPrecision(2)))
  return `$${text}`
}

function formatDuration(seconds: number): string {
  const minutes = Math.ceil(seconds / 60)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
