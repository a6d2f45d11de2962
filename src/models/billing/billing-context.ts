// Whoever calls models: with which keys, whether it may, and who is told what it used.
import type { ModelUsage, ReserveCost } from '../../engine/node-api/node-services.ts'
import type { BilledCall } from './billed-party.ts'

export interface BillingContext {
  /** The user within a workspace, or outside of any, whose calls they are; null: nobody knows. */
  readonly owner: string | null
  /** The key of a provider: the caller's own, or else the operator's for all. Null where there is none. What it throws fails the call. */
  key(name: string): string | null
  /** Before each call. @throws ProviderError `over_budget` */
  admit(): void
  /** After each call, or when it breaks off after it gave something. */
  charge(use: ModelUsage): void
  /** After `admit`. Absent: nothing is held back. @throws ProviderError `over_budget` */
  readonly hold?: ReserveCost
  /** The same customer as whoever pays for a call with this key: limits of the operator hold for what the operator pays. Absent: that makes no difference. */
  forCall?(called: BilledCall): BillingContext
}

/** The customer whom a call with this key is told to. */
export function resolveBillingContext(billing: BillingContext, call: BilledCall): BillingContext {
  return billing.forCall?.(call) ?? billing
}

/** For callers who pay nobody. */
export function createUnbilledContext(key: BillingContext['key'], owner: string | null = null): BillingContext {
  return { owner, key, admit() {}, charge() {} }
}
