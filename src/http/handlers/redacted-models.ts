// Lists the models of all providers with the caller's secrets redacted: a model server may repeat a key in its list, or in its error.
import type { Principal } from '../../access/principal.ts'
import type { AppContext } from '../../context.ts'
import { ownerScopeKey, userShareKey } from '../../db/owner-scope.ts'
import { listProviderModels, type ProviderModels } from '../../models/catalogue/provider-models.ts'
import type { Redactor } from '../../redaction/redactor.ts'
import type { Steps } from '../../shared/time-slices.ts'

/**
 * `only` is the name of a provider.
 * @throws the signal's reason
 */
export async function listRedactedModels(
  app: AppContext,
  principal: Principal,
  signal: AbortSignal,
  only: string | null = null,
): Promise<ProviderModels[]> {
  const listed = await listProviderModels(
    { ...app.models, log: app.log },
    app.models.billingOf(principal),
    signal,
    only,
  )
  const redactor = app.users.redactor.forOwner(ownerScopeKey(principal))
  return await app.schedulers.reading.begin(userShareKey(principal), redactSteps(listed, redactor))
}

/** In steps: a list may have ten thousand names, and its caller a thousand secrets. */
function* redactSteps(listed: readonly ProviderModels[], redactor: Redactor): Steps<ProviderModels[]> {
  const redacted: ProviderModels[] = []
  for (const one of listed) {
    const reason = one.reason && redactor.foreignMessage(one.reason)
    redacted.push({ ...one, reason, models: yield* redactor.valueSteps(one.models, { credentials: false }) })
  }
  return redacted
}
