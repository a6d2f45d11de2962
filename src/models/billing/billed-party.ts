// Who pays for a call of a model: the operator, whose limits are about that alone, or the caller on a key of their own.
import type { OwnerScope } from '../../db/owner-scope.ts'
import type { ResolvedModel } from '../catalogue/resolved-model.ts'

export type BilledParty = 'operator' | 'caller'

/** What a call is made with. */
export type BilledCall = Pick<ResolvedModel, 'provider' | 'credential'>

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
export function resolveBilledParty(
  { provider_keys, local_user }: OperatorKeys,
  { user_id }: OwnerScope,
  call: BilledCall,
): BilledParty {
  const { provider, credential } = call
  if (user_id === local_user || credential === null || provider.credential === null) return 'operator'
  const operatorKey = Object.hasOwn(provider_keys, provider.credential) ? provider_keys[provider.credential] : undefined
  if (operatorKey === undefined && provider.keyless) return 'operator'
  return credential === operatorKey ? 'operator' : 'caller'
}
