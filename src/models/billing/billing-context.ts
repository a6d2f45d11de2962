// The billing context of calls: its keys, its admission of calls, and its record of what they used.
import type { ModelUsage, ReserveCost } from '../../engine/node-api/services/models.ts'
import type { BilledCall } from './billed-party.ts'

export interface BillingContext {
  /** The user, or the user in a workspace, who owns the calls; null: unknown. */
  readonly owner: string | null
  /** The key of a provider: the caller's own, or else the operator's; null where there is none. An error that it throws fails the call. */
  key(name: string): string | null
  /** Before each call. @throws ProviderError `over_budget` */
  admit(): void
  /** After each call, also after a call that breaks off once its answer had begun. */
  charge(use: ModelUsage): void
  /** Reserves cost after `admit`. Absent: nothing is reserved. @throws ProviderError `over_budget` */
  readonly hold?: ReserveCost
  /** The context for a call with this key: the operator's limits apply only to calls that the operator pays. Absent: the same context for every key. */
  forCall?(called: BilledCall): BillingContext
}

/** The context that a call with this key is charged to. */
export function resolveBillingContext(billing: BillingContext, call: BilledCall): BillingContext {
  return billing.forCall?.(call) ?? billing
}

/** For calls that nothing charges. */
export function createUnbilledContext(key: BillingContext['key'], owner: string | null = null): BillingContext {
  return { owner, key, admit() {}, charge() {} }
}
