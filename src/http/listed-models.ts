// The models of all providers as one caller may see them: a server may repeat the key that it was asked with in its list.
import type { Principal } from '../access/principal.ts'
import type { AppContext } from '../context.ts'
import { scopedKey, userKey } from '../db/scope.ts'
import { type Listed, listedFor } from '../models/catalogue.ts'
import type { Redactor } from '../redaction/redactor.ts'
import type { Steps } from '../time-slices.ts'

/** `only`: of the provider of that name. @throws the signal's reason */
export async function listedModels(
  app: AppContext,
  principal: Principal,
  signal: AbortSignal,
  only: string | null = null,
): Promise<Listed[]> {
  const listed = await listedFor(app, app.customerOf(principal), signal, only)
  const redactor = app.redactor.of(scopedKey(principal))
  return await app.reading.begin(userKey(principal), shownSteps(listed, redactor))
}

/** A list may have ten thousand names, and its reader a thousand secrets. */
function* shownSteps(listed: readonly Listed[], redactor: Redactor): Steps<Listed[]> {
  const shown: Listed[] = []
  for (const one of listed)
    shown.push({ ...one, models: yield* redactor.valueSteps(one.models, { credentials: false }) })
  return shown
}
