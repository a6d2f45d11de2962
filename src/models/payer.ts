// Who pays for a call of a model: the operator, whose limits are about that alone, or the caller on a key of their own.
import type { Scope } from '../db/scope.ts'
import type { Found } from './finding.ts'

export type Payer = 'operator' | 'caller'

/** What a call is made with. */
export type Called = Pick<Found, 'provider' | 'credential'>

export interface OperatorKeys {
  /** Keys that the operator has set for all, by name. */
  readonly provider_keys: Readonly<Record<string, string>>
  /** The user who is the operator: that of Local mode. */
  readonly local_user: string
}

/**
 * The key that is sent decides, so that a secret which changes meanwhile makes no difference. A server that can be asked without a key, and for which
 * the operator has set none, may take any key: the operator pays for it.
 */
export function payerOf({ provider_keys, local_user }: OperatorKeys, { user_id }: Scope, called: Called): Payer {
  const { provider, credential } = called
  if (user_id === local_user || credential === null || provider.credential === null) return 'operator'
  const operators = Object.hasOwn(provider_keys, provider.credential) ? provider_keys[provider.credential] : undefined
  if (operators === undefined && provider.keyless) return 'operator'
  return credential === operators ? 'operator' : 'caller'
}
