// A resolved model: the model, its provider, and the credential for the call.

import { truncateText } from '../../shared/text-truncation.ts'
import type { Model, Provider } from '../provider.ts'
import { explainMissingKey, ProviderError } from '../provider-error.ts'

/** Gives a secret of the caller; null where there is none. */
export type SecretLookup = (name: string) => string | null

export interface ResolvedModel {
  readonly provider: Provider
  readonly model: Model
  readonly credential: string | null
}

/** The tag that a name without a tag means on servers which tag every model (Ollama). */
const LATEST_TAG = ':latest'

/** The names under which a list may have a model, the best first. */
export function candidateNames(name: string): readonly string[] {
  return name === '' ? [] : [name, `${name}${LATEST_TAG}`]
}

/** Models by name, for each list, which never changes. Of two models with one name the first counts. Cached, since a run may name many models. */
const modelsByName = new WeakMap<readonly Model[], ReadonlyMap<string, Model>>()

/** Finds the model that a list has under the best name. */
export function findListedModel(models: readonly Model[] | null, name: string): Model | null {
  if (models === null) return null
  const named = modelsByName.get(models) ?? new Map(models.toReversed().map((model) => [model.name, model]))
  modelsByName.set(models, named)
  for (const candidate of candidateNames(name)) {
    const found = named.get(candidate)
    if (found) return found
  }
  return null
}

/** How much of a name an error shows. */
const MAX_SHOWN_NAME = 100

/** @throws ProviderError `no_key`, which names the secret; what `secret` throws */
export function resolveCredential(
  { name: provider, credential: name, keyless }: Provider,
  secret: SecretLookup,
): string | null {
  if (name === null) return null
  const value = secret(name)
  if (value !== null || keyless) return value
  throw new ProviderError('no_key', `The provider "${provider}" needs the secret "${name}". ${explainMissingKey(name)}`)
}

export function truncateModelName(name: string): string {
  return truncateText(name, MAX_SHOWN_NAME)
}
