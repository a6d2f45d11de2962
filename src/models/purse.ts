// Limits of what calls of models may cost, and what calls under way take of them. Amounts are US dollars: what is paid in another currency,
// or has no price, counts towards no limit.
import { rounded } from '../amounts.ts'
import type { ModelCost } from '../engine/services.ts'
import { ProviderError } from './provider-error.ts'

export const CURRENCY = 'USD'

/** When a call may be made again that found no more than calls under way in its way. Most of them are over by then, or cost less than their limit. */
export const HELD_RETRY_SECONDS = 5

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
  /** Whether others spend of it as well. What they have spent is told to nobody: of two users each would know what the other one does. */
  readonly is_shared?: boolean
}

/** Whether a call finds room in a purse. If not: for what is spent, or only for what calls under way have set aside. */
export type Room = 'enough' | 'held' | 'spent'

/** `sure`: what the call costs in any case. */
export function roomIn({ limit, spent, held }: Purse, sure = 0): Room {
  const used = spent()
  if (!hasRoom(limit, used, sure)) return 'spent'
  return hasRoom(limit, used + held, sure) ? 'enough' : 'held'
}

function hasRoom(limit: number, used: number, sure: number): boolean {
  return rounded(used) < limit && rounded(used + sure) <= limit
}

/** @throws ProviderError `over_budget` where one of them has no room for a call that costs `sure` in any case */
export function checkPurses(purses: readonly Purse[], sure = 0): void {
  let held: Purse | null = null
  for (const purse of purses) {
    const room = roomIn(purse, sure)
    if (room === 'spent') throw overBudget(purse, sure)
    if (room === 'held') held ??= purse
  }
  // After the others: to try again soon helps where nothing else is in the way.
  if (held) throw overBudget(held, sure)
}

/** For a call that finds no room in it. */
export function overBudget(purse: Purse, sure = 0): ProviderError {
  const held = roomIn(purse, sure) === 'held' ? purse.held : 0
  const used = rounded(purse.spent() + held)
  const call = used < purse.limit ? ` The call costs ${dollars(sure)} at least.` : ''
  const wait = held > 0 ? soon() : nextDay(purse, sure)
  const text = `${purse.is_shared ? sharedText(purse, used, held) : ownText(purse, used, held)}${call}${wait.text}`
  return new ProviderError('over_budget', text, { retry_after_seconds: wait.seconds })
}

function ownText({ whose, limit }: Purse, used: number, held: number): string {
  const amount =
    held > 0
      ? `spent or set aside ${dollars(used)} on models, calls under way included`
      : `spent ${dollars(used)} on models`
  return `${whose} has ${amount}, and may spend ${dollars(limit)}.`
}

function sharedText({ whose, limit }: Purse, used: number, held: number): string {
  const left = used < limit ? 'too little' : 'nothing'
  return `${whose} has ${left} left of the ${dollars(limit)} that it may spend on models${held > 0 ? ', calls under way included' : ''}.`
}

/** When to try again, as the message ends; null: never. */
interface Wait {
  readonly seconds: number | null
  readonly text: string
}

function soon(): Wait {
  const text = ` Calls under way may leave room soon: try again in ${HELD_RETRY_SECONDS} seconds.`
  return { seconds: HELD_RETRY_SECONDS, text }
}

function nextDay({ limit, resets_in }: Purse, sure: number): Wait {
  const seconds = sure > limit ? null : resets_in()
  return { seconds, text: seconds === null ? '' : ` The limit begins anew in ${hours(seconds)}.` }
}

/**
 * Counts a call as paid for what it costs in any case, until it is over: so no more than each purse has left. Nobody ever waits for another one: a
 * call may go on for as long as whoever reads its answer.
 * @throws ProviderError `over_budget`
 */
export function hold(purses: readonly Purse[], sure: number): Disposable {
  checkPurses(purses, sure)
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
