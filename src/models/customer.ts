// Whoever calls models: with which keys, whether it may, and who is told what it used.
import type { Hold, ModelUse } from '../engine/services.ts'
import type { Called } from './payer.ts'

export interface Customer {
  /** The user within a workspace, or outside of any, whose calls they are; null: nobody knows. */
  readonly owner: string | null
  /** The key of a provider: the caller's own, or else the operator's for all. Null where there is none. What it throws fails the call. */
  key(name: string): string | null
  /** Before each call. @throws ProviderError `over_budget` */
  admit(): void
  /** After each call, or when it breaks off after it gave something. */
  charge(use: ModelUse): void
  /** After `admit`. Absent: nothing is held back. @throws ProviderError `over_budget` */
  readonly hold?: Hold
  /** The same customer as whoever pays for a call with this key: limits of the operator hold for what the operator pays. Absent: that makes no difference. */
  calling?(called: Called): Customer
}

/** The customer whom a call with this key is told to. */
export function customerCalling(customer: Customer, called: Called): Customer {
  return customer.calling?.(called) ?? customer
}

/** For callers who pay nobody. */
export function customerWith(key: Customer['key'], owner: string | null = null): Customer {
  return { owner, key, admit() {}, charge() {} }
}
