// Limits of what calls of models may cost, and what calls under way take of them. Amounts are US dollars: what is paid in another currency,
// or has no price, counts towards no limit.
import { rounded } from '../amounts.ts'
import type { ModelCost } from '../engine/services.ts'
import { ProviderError } from './provider-error.ts'

export const CURRENCY = 'USD'

/** One limit. */
export interface Purse {
  readonly limit: number
  /** Whose it is, as the message begins: "This job". */
  readonly whose: string
  readonly spent: () => number
  /** Seconds until it is filled again; null: never. */
  readonly resets_in: () => number | null
  /** What calls under way cost in any case. */
  held: number
}

/** @throws ProviderError `over_budget` where one of them is empty */
export function checkPurses(purses: readonly Purse[]): void {
  for (const purse of purses) if (isEmpty(purse)) throw overBudget(purse)
}

/** What calls under way cost in any case is spent. */
export function isEmpty({ limit, spent, held }: Purse): boolean {
  return rounded(spent() + held) >= limit
}

export function overBudget({ limit, whose, spent, held, resets_in }: Purse): ProviderError {
  const seconds = resets_in()
  const when = seconds === null ? '' : ` The limit begins anew in ${hours(seconds)}.`
  const amount = dollars(rounded(spent() + held))
  const used =
    held > 0 ? `spent or set aside ${amount} on models, calls under way included` : `spent ${amount} on models`
  const text = `${whose} has ${used}, and may spend ${dollars(limit)}.${when}`
  return new ProviderError('over_budget', text, { retry_after_seconds: seconds })
}

/**
 * Counts a call as paid for what it costs in any case, until it is over. Nobody ever waits for another one: a call may go on for as long as
 * whoever reads its answer.
 * @throws ProviderError `over_budget`
 */
export function hold(purses: readonly Purse[], sure: number): Disposable {
  checkPurses(purses)
  for (const purse of purses) purse.held = rounded(purse.held + sure)
  let held = true
  return {
    [Symbol.dispose]: () => {
      if (!held) return
      held = false
      for (const purse of purses) purse.held = rounded(purse.held - sure)
    },
  }
}

/** What of a cost counts. */
export function counted(cost: ModelCost | null): number {
  return cost?.currency === CURRENCY ? cost.amount : 0
}

/** To the cent, and small amounts as exactly as they are. */
function dollars(amount: number): string {
  const text = amount >= 0.01 || amount === 0 ? amount.toFixed(2) : String(Number(amount.toPrecision(2)))
  return `$${text}`
}

function hours(seconds: number): string {
  const minutes = Math.ceil(seconds / 60)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
