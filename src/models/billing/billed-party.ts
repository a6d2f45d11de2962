// Decides who pays for a call: the operator, whose limits count only such calls, or the caller with a key of their own.
import type { OwnerScope } from '../../db/owner-scope.ts'
import type { ResolvedModel } from '../catalogue/resolved-model.ts'

export type BilledParty = 'operator' | 'caller'

export type BilledCall = Pick<ResolvedModel, 'provider' | 'credential'>

export interface OperatorKeys {
  /** Keys that the operator has set for all users, by name. */
  readonly provider_keys: Readonly<Record<string, string>>
  /** The user of Local mode, who is the operator. */
  readonly local_user: string
}

/**
 * The key that is sent decides, so that a secret which changes during the call makes no difference. A server that works without a key, and for
 * which the operator has set none, may accept any key: the operator pays for it.
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
