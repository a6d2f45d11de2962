// Spending limits, and the reservations of running calls within them. Amounts are US dollars: a cost in another currency, or an unknown cost,
// counts towards no limit.

import type { ModelCost } from '../../engine/node-api/services/models.ts'
import { roundAmount } from '../../shared/money.ts'
import { ProviderError } from '../provider-error.ts'

export const LIMIT_CURRENCY = 'USD'

/** When to retry a call that only the reservations of running calls refused. Most of these are over by then. */
export const RESERVED_RETRY_SECONDS = 5

export interface SpendingLimit {
  readonly limit: number
  /** The subject of its messages: "This job". */
  readonly subject: string
  readonly spent: () => number
  /** Seconds until the limit resets; null: never. */
  readonly resets_in: () => number | null
  /** The reserved minimum cost of running calls. */
  held: number
  /** Whether several users share the limit. Messages then hide the amount spent: otherwise each user would learn about the others' use. */
  readonly is_shared?: boolean
}

/** Whether a call fits within a limit. `spent`: the spending alone is too high. `held`: only the reservations of running calls make it too high. */
export type LimitState = 'enough' | 'held' | 'spent'

export function checkLimit({ limit, spent, held }: SpendingLimit, minimumCost = 0): LimitState {
  const used = spent()
  if (!isWithinLimit(limit, used, minimumCost)) return 'spent'
  return isWithinLimit(limit, used + held, minimumCost) ? 'enough' : 'held'
}

function isWithinLimit(limit: number, used: number, minimumCost: number): boolean {
  return roundAmount(used) < limit && roundAmount(used + minimumCost) <= limit
}

/** @throws ProviderError `over_budget` where a call that costs at least `minimumCost` exceeds a limit */
export function guardSpendingLimits(limits: readonly SpendingLimit[], minimumCost = 0): void {
  let reserved: SpendingLimit | null = null
  for (const spendingLimit of limits) {
    const state = checkLimit(spendingLimit, minimumCost)
    if (state === 'spent') throw createOverBudgetError(spendingLimit, minimumCost)
    if (state === 'held') reserved ??= spendingLimit
  }
  // Last: a retry only helps where no limit is already spent.
  if (reserved) throw createOverBudgetError(reserved, minimumCost)
}

export function createOverBudgetError(spendingLimit: SpendingLimit, minimumCost = 0): ProviderError {
  const held = checkLimit(spendingLimit, minimumCost) === 'held' ? spendingLimit.held : 0
  const used = roundAmount(spendingLimit.spent() + held)
  const call = used < spendingLimit.limit ? ` The call costs ${formatDollars(minimumCost)} at least.` : ''
  const wait = held > 0 ? retrySoon() : retryNextDay(spendingLimit, minimumCost)
  const text = `${spendingLimit.is_shared ? describeSharedLimit(spendingLimit, used, held) : describeOwnLimit(spendingLimit, used, held)}${call}${wait.text}`
  return new ProviderError('over_budget', text, { retry_after_seconds: wait.seconds })
}

function describeOwnLimit({ subject, limit }: SpendingLimit, used: number, held: number): string {
  const amount =
    held > 0
      ? `spent or set aside ${formatDollars(used)} on models, calls under way included`
      : `spent ${formatDollars(used)} on models`
  return `${subject} has ${amount}, and may spend ${formatDollars(limit)}.`
}

function describeSharedLimit({ subject, limit }: SpendingLimit, used: number, held: number): string {
  const left = used < limit ? 'too little' : 'nothing'
  return `${subject} has ${left} left of the ${formatDollars(limit)} that it may spend on models${held > 0 ? ', calls under way included' : ''}.`
}

/** When to try again, and the end of the message that says so. `seconds` null: never. */
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
  return { seconds, text: seconds === null ? '' : ` The limit resets in ${formatDuration(seconds)}.` }
}

/**
 * Reserves the minimum cost of a call until the call is over, so that parallel calls stay within each limit. A call never waits for another call,
 * which may last as long as its reader.
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

export function amountTowardsLimits(cost: ModelCost | null): number {
  return cost?.currency === LIMIT_CURRENCY ? cost.amount : 0
}

/** To the cent; amounts below a cent with two significant digits. */
function formatDollars(amount: number): string {
  const text = amount >= 0.01 || amount === 0 ? amount.toFixed(2) : String(Number(amount.toPrecision(2)))
  return `$${text}`
}

function formatDuration(seconds: number): string {
  const minutes = Math.ceil(seconds / 60)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
