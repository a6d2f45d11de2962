// The models of all providers as one caller may see them: a server may repeat the key that it was asked with in its list.
import type { Principal } from '../access/principal.ts'
import type { AppContext } from '../context.ts'
import { scopedKey } from '../db/scope.ts'
import { type Listed, listedFor } from '../models/catalogue.ts'

/** `only`: of the provider of that name. @throws the signal's reason */
export async function listedModels(
  app: AppContext,
  principal: Principal,
  signal: AbortSignal,
  only: string | null = null,
): Promise<Listed[]> {
  const listed = await listedFor(app, app.customerOf(principal), signal, only)
  const redactor = app.redactor.of(scopedKey(principal))
  return listed.map((one) => ({ ...one, models: redactor.value(one.models, { credentials: false }) }))
}
